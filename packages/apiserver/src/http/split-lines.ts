/** Splits a stream into lines, which keep their line breaks. */
export async function* splitLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  for await (const chunk of body) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      const rest = chunk.subarray(from, at + 1);
      yield parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
      parts = [];
      from = at + 1;
    }
    // Copied, because the stream may reuse the chunk's buffer.
    if (from < chunk.length) parts.push(Buffer.from(chunk.subarray(from)));
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}
