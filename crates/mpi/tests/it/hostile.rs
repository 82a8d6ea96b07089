//! A peer that speaks MPI, but sends messages that no release of this crate would send.

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root};
use treedef_mpi::Collective;

use crate::launch::on_ranks;

/// Takes part in a handshake as the last rank, with these bytes as its report.
fn refuse_with(world: &SimpleCommunicator, report: &[u8]) {
    let world = world.duplicate();
    let (mine, mut most) = ([1u64, 2, !1, !2], [0u64; 4]);
    world.all_reduce_into(&mine, &mut most, SystemOperation::max());
    let mut codes = vec![0u64; 2 * usize::try_from(world.size()).unwrap()];
    world.all_gather_into(&[1u64, 2], &mut codes[..]);
    // The others are more, so they speak first.
    for speaker in [0, world.rank()] {
        let root = world.process_at_rank(speaker);
        let mut length = report.len() as u64;
        root.broadcast_into(&mut length);
        let mut bytes = report.to_vec();
        bytes.resize(usize::try_from(length).unwrap(), 0);
        if !bytes.is_empty() {
            root.broadcast_into(&mut bytes[..]);
        }
    }
}

on_ranks! {
    fn reports_are_read_with_limits(world: 3) {
        let reports: [(&[u8], &str); 9] = [
            (b"", "rank 2 found ``"),
            (b"\xff\xfe\n\xff", "rank 2 found `\u{fffd}\u{fffd} \u{fffd}`"),
            (b"handshake\n", "ranks 0-1 expected `handshake f64:3  [*, *, *]`, rank 2 found `handshake `"),
            (b"handshake\nf64:18446744073709551615 f64:3 \n[*, *, *]", "found `handshake f64:18446744073709551615"),
            (b"handshake\nf64:2 \n[*, *, *]", "found `handshake f64:2 "),
            (b"handshake\nf64:1152921504606846976 \n[*; 1152921504606846976]", "found 1152921504606846976 children"),
            (b"handshake\nf64:0 \n[[[[(); 99999]; 99999]; 99999]; 99999]", "rank 2 found 99999 children"),
            (b"failed\nI do not want to", "rank 2: I do not want to"),
            // Not with the code of a rank that leaves.
            (b"left\n", "rank 2 found `left `"),
        ];
        for (report, expected) in reports {
            if world.rank() == 2 {
                refuse_with(world, report);
                continue;
            }
            let error = Collective::new(world, &vec![0.0; 3]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let deep = [b"handshake\n\n".to_vec(), vec![b'['; 1 << 20]].concat();
        match world.rank() {
            2 => refuse_with(world, &deep),
            _ => {
                let error = Collective::new(world, &vec![0.0; 3]).unwrap_err().to_string();
                assert!(error.contains("rank 2 found `") && error.len() < 500, "{error}");
            }
        }
    }

    /// Rank 1 speaks the protocol of `gather`, with a length or with bytes of its own.
    fn transfers_are_read_with_limits(world: 2) {
        let bomb = treedef::structure(&[(); 3]).unwrap().to_bytes().unwrap();
        let cases: [(u64, &[u8], &str); 3] = [
            (u64::MAX, b"", "18446744073709551615 bytes, the limit is 4294967296 (see `MAX_BYTES`)"),
            (3, b"abc", "expected a file with a tree, found"),
            (bomb.len() as u64, &bomb, "expected a tree"),
        ];
        for (length, bytes, expected) in cases {
            if world.rank() == 1 {
                let call = "gather to rank 0";
                pretend(world, call);
                world.process_at_rank(0).send(&length);
                if !bytes.is_empty() {
                    world.process_at_rank(0).send(bytes);
                }
                // Its own result does not matter: rank 0 has refused.
                let _ = treedef_mpi::broadcast::<f64>(world, 1, None);
                continue;
            }
            let error = treedef_mpi::gather(world, 0, &[1.0]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// Agrees to a call as the crate does: a peer in another language would do this.
fn pretend(world: &SimpleCommunicator, call: &str) {
    let text = [&0u128.to_le_bytes()[..], b"call\n", call.as_bytes()].concat();
    let code = text.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |code, byte| {
        (code ^ u128::from(*byte)).wrapping_mul((1 << 88) + 0x13b)
    });
    let (low, high) = (code as u64, (code >> 64) as u64);
    let mut most = [0u64; 4];
    world.all_reduce_into(&[low, high, !low, !high], &mut most, SystemOperation::max());
    assert_eq!(most, [low, high, !low, !high]);
}
