# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_treedef_global_optspecs
    string join \n h/help V/version
end

function __fish_treedef_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_treedef_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_treedef_using_subcommand
    set -l cmd (__fish_treedef_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c treedef -n "__fish_treedef_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c treedef -n "__fish_treedef_needs_command" -s V -l version -d 'Print version'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "show" -d 'Prints the structure: keys, kinds and shapes, with equal neighbours once'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "summary" -d 'Prints a document with its values, and shape and statistics for long arrays'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "shapes" -d 'Counts the distinct structures of many documents, e.g. of JSON lines'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "diff" -d 'Compares two documents: keys, kinds and values'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "apply" -d 'Applies a patch of `treedef diff --patch`'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "check" -d 'Checks documents against a structure or a JSON Schema, and lists every violation'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "select" -d 'Prints the leaves at and below a path, e.g. `\'**.name\'` or `\'items[*].id\'`'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "convert" -d 'Converts a document to another format, and reports losses on standard error'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "fingerprint" -d 'Prints a hash of the structure of each file, the same on every machine'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "view" -d 'Makes a page that shows a document, or the differences of two'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "completions" -d 'Prints completions for a shell'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "man" -d 'Prints the man page'
complete -c treedef -n "__fish_treedef_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c treedef -n "__fish_treedef_using_subcommand show" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand show" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand show" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand show" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand show" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand show" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand show" -l depth -d 'Show at most N levels' -r
complete -c treedef -n "__fish_treedef_using_subcommand show" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand show" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand show" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand show" -l fold-lengths -d 'Leave out the lengths of sequences'
complete -c treedef -n "__fish_treedef_using_subcommand show" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand show" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand summary" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand summary" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand summary" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l fold-keys -d 'Treat the keys of a map as data if there are more than N: `{*: f64}`' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l elements -d 'Treat each element of the outermost sequence (or of the one at PATH) as a document' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l top -d 'Show at most N structures; 0 for all' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l list -d 'List the places of the documents that have structure N: `log.jsonl:56`' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l rare -d 'List the places of the documents whose structure occurs at most N times, each with the number of its structure' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l save -d 'Save the counts instead of showing them; `-` is standard output. `treedef shapes *.counts` adds them up, in any order' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l max-structures -d 'Maximum number of distinct structures' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l threads -d 'Number of threads [default: one for each core]' -r
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l fold-lengths -d 'Sequences may have any length: `[str; 0–512]`'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l fold-widths -d 'All integers are `int`, all floats `float`'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l fold-numbers -d 'All numbers are `number`'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l decimals -d 'Distinguish numbers that an f64 does not preserve, e.g. 1e400, from other floats: `decimal(f64)`'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l schema -d 'Print a JSON Schema (draft 2020-12) of the documents'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand shapes" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l rtol -d 'Allow numbers to differ by up to X times the old number' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l atol -d 'Allow numbers to differ by up to X' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l ulps -d 'Allow floats to be up to N steps apart' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -s o -l output -d 'Write the patch to FILE [default: standard output]' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l at -d 'Compare only the part at PATH, e.g. `model` in a training checkpoint. If only one side has PATH, compare it with the whole other document' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l only -d 'Compare only the parts that match PATH, a path as in `select`. May be repeated' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l ignore -d 'Ignore the parts that match PATH. May be repeated' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l rename -d 'Compare tensors FROM of the old file with TO of the new one: `*` is one part of a name, `**` any number of parts; the rest of the name, e.g. `.weight`, stays. May be repeated' -r
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l renames -d 'A file with the names for one `--rename` on each line, as printed by `--suggest`' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l structure -d 'Compare keys, lengths and kinds only, not values'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l fold-numbers -d 'Compare numbers by value only, so that the integer 1 equals the float 1.0'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l patch -d 'Print a patch for `treedef apply`'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l suggest -d 'Print the renames that the shapes, words and order of the tensors suggest'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand diff" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand apply" -s o -l output -d 'Output file; its extension tells the format [default: standard output]' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand apply" -s t -l to -d 'Output format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand apply" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand apply" -l json -d 'Print a JSON report of what was written and lost (to standard error without `--output`)'
complete -c treedef -n "__fish_treedef_using_subcommand apply" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l like -d 'A document with the right structure, or the output of `show`, or of `shapes` with one structure, in a file `….treedef`, where an entry `"key"?:` may be missing or null' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand check" -l schema -d 'A JSON Schema' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand check" -l schema-dir -d 'A folder with other schemas that the schema refers to, if they are not next to it; nothing is downloaded. May be repeated' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand check" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand check" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand check" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l at -d 'Compare only the part at PATH, e.g. `model` in a training checkpoint. If only one side has PATH, compare it with the whole other document' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l only -d 'Compare only the parts that match PATH, a path as in `select`. May be repeated' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l ignore -d 'Ignore the parts that match PATH. May be repeated' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l max -d 'List at most N violations of a file; 0 for all' -r
complete -c treedef -n "__fish_treedef_using_subcommand check" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l fold-lengths -d 'Sequences may have any length: `[str; 0–512]`'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l fold-widths -d 'All integers are `int`, all floats `float`'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l fold-numbers -d 'All numbers are `number`'
complete -c treedef -n "__fish_treedef_using_subcommand check" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand check" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand select" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand select" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand select" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand select" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand select" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand select" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand select" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand select" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand select" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand select" -l full -d 'Print every number of long tensors'
complete -c treedef -n "__fish_treedef_using_subcommand select" -l tree -d 'Print a document that has only these leaves, as JSON'
complete -c treedef -n "__fish_treedef_using_subcommand select" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand select" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand convert" -s o -l output -d 'Output file; its extension tells the format [default: standard output]' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand convert" -s t -l to -d 'Output format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l shards -d 'Write a folder of safetensors in files of at most SIZE, with their index, e.g. `5GB`' -r
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l separate -d 'Write tied tensors once for each of their names'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l keep-values -d 'Store values of a PyTorch file that are not tensors as JSON in the metadata of safetensors'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -l json -d 'Print a JSON report of what was written and lost (to standard error without `--output`)'
complete -c treedef -n "__fish_treedef_using_subcommand convert" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l tensors -d 'Print the SHA-256 of the bytes of each tensor, and of the text of each other value'
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -l json -d 'Print JSON'
complete -c treedef -n "__fish_treedef_using_subcommand fingerprint" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand view" -s f -l format -d 'Input format [default: by extension]' -r -f -a "json\t'JSON: one document'
json5\t'JSON5, and JSON with comments'
jsonl\t'JSON lines: one document a line'
toml\t'TOML'
yaml\t'YAML'
cbor\t'CBOR'
msgpack\t'MessagePack'
ron\t'RON'
tree\t'a tree as the library `treedef` saves it'
treedef\t'a structure, as `treedef` saves it or as text'
safetensors\t'tensors by name'
npz\t'numpy\'s arrays by name'
npy\t'numpy\'s file of one array'
gguf\t'models of llama.cpp: the metadata, and the names, types and shapes of tensors'
pytorch\t'PyTorch\'s files: .pt, .pth, .bin, .ckpt; nothing in them is run'
orbax\t'checkpoints of orbax: the structure and the shapes'"
complete -c treedef -n "__fish_treedef_using_subcommand view" -l duplicate-keys -d 'If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and keep both, or keep the `last`' -r -f -a "error\t'Fail'
warn\t'Keep both, and warn'
last\t'Keep the last'"
complete -c treedef -n "__fish_treedef_using_subcommand view" -l variant -d 'The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`' -r
complete -c treedef -n "__fish_treedef_using_subcommand view" -l max-depth -d 'Maximum nesting depth, up to 256' -r
complete -c treedef -n "__fish_treedef_using_subcommand view" -l max-nodes -d 'Maximum number of nodes; equal neighbours count as one' -r
complete -c treedef -n "__fish_treedef_using_subcommand view" -l max-bytes -d 'Maximum number of bytes of a document, or of a line of JSON lines, also after decompression' -r
complete -c treedef -n "__fish_treedef_using_subcommand view" -s o -l output -d 'Output file [default: standard output]' -r -F
complete -c treedef -n "__fish_treedef_using_subcommand view" -l skip-bad -d 'Skip lines that cannot be read, and report their number on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand view" -l strict -d 'Fail if something would be skipped or lost: a line that cannot be read, a file that an index does not list, anything that the output format cannot store'
complete -c treedef -n "__fish_treedef_using_subcommand view" -l follow-links -d 'Follow symbolic links that lead out of the folder of a checkpoint'
complete -c treedef -n "__fish_treedef_using_subcommand view" -l json -d 'Print a JSON report of what was written and lost (to standard error without `--output`)'
complete -c treedef -n "__fish_treedef_using_subcommand view" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand completions" -l json -d 'Print JSON: the script, and the name of its file'
complete -c treedef -n "__fish_treedef_using_subcommand completions" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand man" -l json -d 'Print JSON: the page, and the name of its file'
complete -c treedef -n "__fish_treedef_using_subcommand man" -s h -l help -d 'Print help'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "show" -d 'Prints the structure: keys, kinds and shapes, with equal neighbours once'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "summary" -d 'Prints a document with its values, and shape and statistics for long arrays'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "shapes" -d 'Counts the distinct structures of many documents, e.g. of JSON lines'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "diff" -d 'Compares two documents: keys, kinds and values'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "apply" -d 'Applies a patch of `treedef diff --patch`'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "check" -d 'Checks documents against a structure or a JSON Schema, and lists every violation'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "select" -d 'Prints the leaves at and below a path, e.g. `\'**.name\'` or `\'items[*].id\'`'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "convert" -d 'Converts a document to another format, and reports losses on standard error'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "fingerprint" -d 'Prints a hash of the structure of each file, the same on every machine'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "view" -d 'Makes a page that shows a document, or the differences of two'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "completions" -d 'Prints completions for a shell'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "man" -d 'Prints the man page'
complete -c treedef -n "__fish_treedef_using_subcommand help; and not __fish_seen_subcommand_from show summary shapes diff apply check select convert fingerprint view completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
