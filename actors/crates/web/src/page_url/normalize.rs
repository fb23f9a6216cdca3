//! The form in which URLs of the same page are equal (contract.md, section 6). It ignores the case of scheme and host, the
//! default port, dot segments, the fragment, and parameters that only track where a visitor came from. The order and the
//! spelling of all other parameters matter.

use url::{Url, form_urlencoded};

/// Prefixes of campaign parameters: Google's, Matomo's, HubSpot's.
const TRACKING_PREFIXES: &[&str] = &["utm_", "mtm_", "matomo_", "piwik_", "hsa_"];

/// Names, in lower case, of parameters that advertisers, mailers and social networks append to links. Only those that the
/// page itself never reads: `ref`, `source`, `id`, `si` and the like may mean something to it.
const TRACKING_NAMES: &[&str] = &[
    // Click ids of advertisers: Google, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Pinterest, Snap, Reddit, Impact, Branch.
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    "_gl",
    "_ga",
    "fbclid",
    "fb_action_ids",
    "fb_action_types",
    "fb_source",
    "fb_ref",
    "igshid",
    "igsh",
    "msclkid",
    "yclid",
    "ymclid",
    "ysclid",
    "_openstat",
    "twclid",
    "ttclid",
    "li_fat_id",
    "epik",
    "sccid",
    "rdt_cid",
    "irclickid",
    "irgwc",
    "_branch_match_id",
    "_branch_referrer",
    "ef_id",
    "s_kwcid",
    "wickedid",
    "rb_clickid",
    // Mailers: Mailchimp, HubSpot, Marketo, Drip, Klaviyo, Vero, Omeda, MailerLite.
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "__hstc",
    "__hssc",
    "__hsfp",
    "hsctatracking",
    "mkt_tok",
    "__s",
    "_ke",
    "vero_id",
    "vero_conv",
    "oly_anon_id",
    "oly_enc_id",
    "ml_subscriber",
    "ml_subscriber_hash",
    // Web statistics: Matomo's older names, Webtrekk, AT Internet, Yahoo's consent page.
    "pk_campaign",
    "pk_kwd",
    "pk_keyword",
    "pk_source",
    "pk_medium",
    "pk_content",
    "pk_cid",
    "wt_mc",
    "wt_zmc",
    "xtor",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "__twitter_impression",
];

/// Returns the normalised URL. The function is idempotent.
pub(super) fn normalized(url: &Url) -> String {
    // The parser has normalised case, port and dot segments already.
    let mut page = url.clone();
    page.set_fragment(None);
    let kept = url.query().map(kept_parameters).filter(|query| !query.is_empty());
    page.set_query(kept.as_deref());
    page.into()
}

fn kept_parameters(query: &str) -> String {
    query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect::<Vec<_>>().join("&")
}

fn is_tracking(pair: &str) -> bool {
    // Decoded first, so that another spelling of a name, such as `utm%5Fsource`, is found too.
    let name = form_urlencoded::parse(pair.as_bytes()).next().map(|(name, _)| name.to_ascii_lowercase());
    name.is_some_and(|name| {
        TRACKING_NAMES.contains(&name.as_str())
            || TRACKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::page_url::PageUrl;

    fn normalized(text: &str) -> String {
        PageUrl::parse(text).unwrap().normalized()
    }

    #[test]
    fn urls_of_the_same_page_normalise_to_one_string() {
        for (one, other, same) in [
            ("https://EXAMPLE.com/w", "https://example.com/w", true),
            ("HTTPS://example.com:443/w", "https://example.com/w", true),
            ("http://example.com:80/w", "http://example.com/w", true),
            ("https://example.com/a/../w", "https://example.com/w", true),
            ("https://example.com/./a/%2e%2e/w", "https://example.com/w", true),
            ("https://example.com/w#part", "https://example.com/w", true),
            ("https://example.com", "https://example.com/", true),
            ("https://example.com/w?", "https://example.com/w", true),
            ("https://example.com/w?&a=1&&", "https://example.com/w?a=1", true),
            ("https://example.com/w?utm_source=x&id=1", "https://example.com/w?id=1", true),
            ("https://example.com/w?id=1&UTM_Medium=x&b", "https://example.com/w?id=1&b", true),
            ("https://example.com/w?utm%5Fsource=x", "https://example.com/w", true),
            ("https://example.com/w?fbclid=1&gclid=2#x", "https://example.com/w", true),
            ("https://example.com/w?a=b%26utm_source=c", "https://example.com/w?a=b", false),
            ("https://example.com/w?b=1&a=2", "https://example.com/w?a=2&b=1", false),
            ("https://example.com/w", "http://example.com/w", false),
            ("https://example.com/w", "https://example.com/w/", false),
            ("https://example.com/w", "https://example.com/w/x", false),
            ("https://example.com:8443/w", "https://example.com/w", false),
            ("https://example.com/w?x=1", "https://example.com/w?x=2", false),
            ("https://example.com/w?ref=x", "https://example.com/w", false),
            ("https://example.com/w/A", "https://example.com/w/a", false),
        ] {
            assert_eq!(normalized(one) == normalized(other), same, "{one} {other}");
        }
    }

    #[test]
    fn url_without_tracking_is_unchanged() {
        for text in
            ["https://example.com/a?b=1&a=%20x+y&c", "http://127.0.0.1:20009/x", "http://[2606::1]/~a/%7Eb"]
        {
            assert_eq!(normalized(text), text);
        }
    }

    proptest! {
        #[test]
        fn normalising_is_idempotent(
            host in "[a-zA-Z0-9]{1,8}\\.[a-z]{2,5}", path in "[ -~é]{0,20}", query in "[a-z_=&%0-9A-F'\"#? é]{0,40}",
        ) {
            if let Ok(page) = PageUrl::parse(&format!("https://{host}/{path}?utm_x=1&{query}")) {
                let once = page.normalized();
                prop_assert_eq!(normalized(&once), once);
            }
        }

        #[test]
        fn normalised_url_keeps_host_and_port(text in "https?://[!-~]{1,40}") {
            if let Ok(page) = PageUrl::parse(&text) {
                let again = PageUrl::parse(&page.normalized()).unwrap();
                prop_assert_eq!((again.host(), again.port()), (page.host(), page.port()));
            }
        }
    }
}
