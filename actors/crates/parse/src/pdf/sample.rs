//! PDFs that tests put together. The tests of the sandbox read this file too.

/// Returns a PDF with these page contents in Helvetica, and these additional objects from number 100 on.
pub fn pdf(pages: &[&str], more: &[(u32, &str)]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|n| format!("{} 0 R ", 10 + 2 * n)).collect();
    let mut objects = vec![
        (1, "<</Type/Catalog/Pages 2 0 R/Lang(de-AT)/Outlines 100 0 R>>".to_owned()),
        (2, format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len())),
        (3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned()),
        (4, "<</Title(A paper)/Author(\\376\\377\\000\\334)/Subject(Ants)/CreationDate(D:20240506070809+02'00)>>".to_owned()),
    ];
    for (n, content) in (0u32..).zip(pages) {
        let resources = "<</Font<</F 3 0 R>>/XObject<</X 101 0 R>>>>";
        let box_ = "/MediaBox[0 0 600 800]";
        let at = 10 + 2 * n;
        objects.push((
            at,
            format!("<</Type/Page/Parent 2 0 R{box_}/Resources{resources}/Contents {} 0 R>>", at + 1),
        ));
        objects.push((at + 1, format!("<</Length {}>>stream\n{content}\nendstream", content.len())));
    }
    objects.extend(more.iter().map(|(number, body)| (*number, (*body).to_owned())));
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut table = String::new();
    for (number, body) in &objects {
        table.push_str(&format!("{number} 1\n{:010} 00000 n \n", bytes.len()));
        bytes.extend_from_slice(format!("{number} 0 obj\n{body}\nendobj\n").as_bytes());
    }
    let at = bytes.len();
    let size = objects.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let end = format!("xref\n{table}trailer<</Size {size}/Root 1 0 R/Info 4 0 R>>\nstartxref\n{at}\n%%EOF");
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

/// Returns the instructions that paint one line of text.
pub fn paint_text(text: &str) -> String {
    format!("BT /F 12 Tf 50 700 Td ({text}) Tj ET")
}
