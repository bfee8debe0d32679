/** The events of a watch without the states in between, as a client sees them that was away. */
interface Line {
  readonly type: string;
  readonly object: { readonly metadata?: { readonly uid?: string } };
}

/** Chunks end at the end of a line, as those of a server in this process do. */
export function mergeEvents(chunks: readonly Uint8Array[]): Uint8Array {
  const text = Buffer.concat(chunks).toString("utf8");
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (!text.endsWith("\n")) return Buffer.from(text);
  const kept = new Map<string, Line>();
  let unnamed = 0;
  for (const line of lines) {
    const event = JSON.parse(line) as Line;
    const uid = event.object.metadata?.uid;
    if (uid === undefined || event.type === "BOOKMARK") {
      kept.set(`#${unnamed++}`, event);
      continue;
    }
    const previous = kept.get(uid);
    kept.delete(uid);
    // Who never heard of an object need not hear of its end.
    if (previous?.type === "ADDED" && event.type === "DELETED") continue;
    const type = previous?.type === "ADDED" ? "ADDED" : event.type;
    kept.set(uid, { ...event, type });
  }
  return Buffer.from([...kept.values()].map((one) => `${JSON.stringify(one)}\n`).join(""));
}
