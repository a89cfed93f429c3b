//! Only trusted proxies determine where a request comes from, whatever a client sends.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use windlass_core::inbound::forwarded::{ForwardedHeaders, TrustedProxies, origin_of, read_network};

fn trusted() -> TrustedProxies {
    TrustedProxies::new(vec![read_network("10.0.0.0/8").expect("a network")])
}

/// Text that resembles such headers, and other text.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9a-fx.:,; \\[\\]\"\\\\=_-]{0,60}",
        "(for|proto|by|For)=\"?[0-9.:\\[\\]]{0,20}\"?[,;]?.{0,20}",
        ".{0,60}",
        Just("for=\"".to_owned()),
        Just("10.0.0.1, 10.0.0.2".to_owned()),
    ]
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from).prop_filter("not a proxy", |address| address.octets()[0] != 10)
}

fn texts(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn headers_of_an_untrusted_peer_do_not_change_its_address(
        peer in address(),
        listed in prop::collection::vec(hostile(), 0..4),
        protocols in prop::collection::vec(hostile(), 0..3),
        standard in prop::collection::vec(hostile(), 0..4),
    ) {
        let headers = ForwardedHeaders {
            x_forwarded_for: texts(&listed),
            x_forwarded_proto: texts(&protocols),
            forwarded: texts(&standard),
        };
        let origin = origin_of(IpAddr::V4(peer), &headers, &trusted());
        prop_assert_eq!((origin.address, origin.scheme), (IpAddr::V4(peer), None));
    }

    #[test]
    fn behind_a_trusted_proxy_one_is_who_the_proxy_saw(client in address(), said in hostile()) {
        let proxy = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let listed = format!("{said}, {client}");
        let headers = ForwardedHeaders { x_forwarded_for: vec![&listed], ..ForwardedHeaders::default() };
        prop_assert_eq!(origin_of(proxy, &headers, &trusted()).address, IpAddr::V4(client));
        // The proxy adds a header of its own, so that an open quote of the client does not reach into it.
        let seen = format!("for={client}");
        let headers = ForwardedHeaders { forwarded: vec![&said, &seen], ..ForwardedHeaders::default() };
        prop_assert_eq!(origin_of(proxy, &headers, &trusted()).address, IpAddr::V4(client));
    }
}
