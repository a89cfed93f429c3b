//! Forwarding headers: no text makes parsing panic, and an untrusted peer cannot claim another address.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use windlass_core::inbound::forwarded::{ForwardedHeaders, TrustedProxies, origin_of, read_network};

fuzz_target!(|texts: (&str, &str, &str)| {
    let trusted = TrustedProxies::new(read_network("10.0.0.0/8").into_iter().collect());
    let headers = ForwardedHeaders {
        x_forwarded_for: vec![texts.0],
        x_forwarded_proto: vec![texts.1],
        forwarded: vec![texts.2],
    };
    let stranger = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(origin_of(stranger, &headers, &trusted).address, stranger);
    let _ = origin_of(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), &headers, &trusted);
});
