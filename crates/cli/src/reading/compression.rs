//! Compressed files: gzip is read member by member, zstd frame by frame. Output is compressed according to
//! its name.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::failure::Result;

/// Whether a file begins like one of zstd: with a frame, or with a frame to skip.
pub(crate) fn is_zstd(start: &[u8]) -> bool {
    matches!(start, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Reads all frames of a file of zstd, each with its checksum.
pub(crate) struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    /// Begins with the first frame.
    pub(crate) fn new(source: R) -> io::Result<Self> {
        let mut zstd = Zstd { source, decoder: FrameDecoder::new(), is_in_frame: false };
        zstd.begin()?;
        Ok(zstd)
    }

    /// Begins the next frame, if there is one.
    fn begin(&mut self) -> io::Result<()> {
        while !self.is_in_frame && !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => self.is_in_frame = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let mut skipped = (&mut self.source).take(length);
                    if io::copy(&mut skipped, &mut io::sink())? < length {
                        return Err(damaged("a frame of zstd ends early"));
                    }
                }
                Err(_) => return Err(damaged("expected a frame of zstd")),
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.is_in_frame && !out.is_empty() {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(|_| damaged("a frame of zstd ends early, or is damaged"))?;
            }
            let read = self.decoder.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            let expected = self.decoder.get_checksum_from_data();
            if expected.is_some() && expected != self.decoder.get_calculated_checksum() {
                return Err(damaged("the checksum of a frame of zstd is another"));
            }
            self.is_in_frame = false;
            self.begin()?;
        }
        Ok(0)
    }
}

/// Reads all members of a file of gzip. Zeros may follow the last member as padding, as on tapes.
pub(crate) struct Gzip<R> {
    /// `None` at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(source: R) -> Self {
        Gzip { member: Some(GzDecoder::new(source)) }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = self.member.as_mut().filter(|_| !out.is_empty()) {
            let read = member.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            let Some(mut source) = self.member.take().map(GzDecoder::into_inner) else { break };
            if source.fill_buf()?.starts_with(&[0x1f]) {
                self.member = Some(GzDecoder::new(source));
            } else if !is_filled_up(&mut source)? {
                return Err(damaged("behind a member of gzip are bytes that are none"));
            }
        }
        Ok(0)
    }
}

/// Whether the rest has only zeros.
fn is_filled_up(source: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let rest = source.fill_buf()?;
        let length = rest.len();
        if length == 0 || rest.iter().any(|byte| *byte != 0) {
            return Ok(length == 0);
        }
        source.consume(length);
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("damaged: {what}"))
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Whether output to a file of this name is collected in memory first.
pub(crate) fn is_made_in_memory(path: &Path) -> bool {
    matches!(&*extension(path), "zst" | "zstd")
}

/// Compresses output according to the name of the file: `.gz`, `.zst` or not.
pub(crate) fn compressed(
    path: &Path,
    out: &mut dyn Write,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match &*extension(path) {
        "gz" => {
            let mut gzip = GzEncoder::new(out, Compression::default());
            make(&mut gzip)?;
            gzip.finish()?;
            Ok(())
        }
        _ if is_made_in_memory(path) => {
            let mut bytes = Vec::new();
            make(&mut bytes)?;
            Ok(out.write_all(&compress_to_vec(&*bytes, CompressionLevel::Fastest))?)
        }
        _ => make(out),
    }
}
