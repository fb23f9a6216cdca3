// Files that tests upload: a PDF with lines of text, and a recording.

const escaped = (line) => line.replace(/[\\()]/g, (sign) => `\\${sign}`);

/** A PDF with these pages, each a list of lines in Helvetica of 14 points from the top left. */
export function pdf(pages) {
  const kids = pages.map((_, n) => `${10 + 2 * n} 0 R`).join(" ");
  const objects = [
    [1, "<</Type/Catalog/Pages 2 0 R/Lang(en)>>"],
    [2, `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`],
    [3, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"],
  ];
  pages.forEach((lines, n) => {
    const words = lines.map((line) => `(${escaped(line)}) Tj T*`).join(" ");
    const content = `BT /F 14 Tf 18 TL 60 720 Td ${words} ET`;
    objects.push([10 + 2 * n, `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents ${11 + 2 * n} 0 R>>`]);
    objects.push([11 + 2 * n, `<</Length ${content.length}>>stream\n${content}\nendstream`]);
  });
  let file = "%PDF-1.7\n";
  let table = "";
  for (const [number, body] of objects) {
    table += `${number} 1\n${String(file.length).padStart(10, "0")} 00000 n \n`;
    file += `${number} 0 obj\n${body}\nendobj\n`;
  }
  const size = Math.max(...objects.map(([number]) => number)) + 1;
  return Buffer.from(`${file}xref\n${table}trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF`, "latin1");
}

/** A WAV file with a tone of this many seconds. */
export function wav(seconds) {
  const rate = 8000;
  const file = Buffer.alloc(44 + seconds * rate * 2);
  file.write("RIFF", 0); file.writeUInt32LE(file.length - 8, 4); file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16); file.writeUInt16LE(1, 20); file.writeUInt16LE(1, 22); file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * 2, 28); file.writeUInt16LE(2, 32); file.writeUInt16LE(16, 34); file.write("data", 36);
  file.writeUInt32LE(seconds * rate * 2, 40);
  for (let n = 0; n < seconds * rate; n += 1) file.writeInt16LE(Math.round(Math.sin(n * 0.3) * 9000), 44 + 2 * n);
  return file;
}

/** Uploads a file of an account. Returns the upload, once its text is no longer being made or after `seconds`. */
export async function upload(session, filename, contentType, bytes, seconds = 20) {
  const ticket = await session.api("POST", "/library/uploads", { filename, contentType, bytes: bytes.length });
  const sent = await fetch(ticket.putUrl, { method: "PUT", headers: ticket.putHeaders, body: bytes });
  if (!sent.ok) throw new Error(`PUT of ${filename}: ${sent.status}`);
  const completed = await session.api("POST", `/library/uploads/${ticket.uploadId}/complete`, {});
  if (!seconds) return completed;
  return session.until(`/library/uploads/${ticket.uploadId}`, (it) => it.status !== "processing", seconds);
}
