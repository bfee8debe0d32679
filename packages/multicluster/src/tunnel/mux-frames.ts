/**
 * The frames of a tunnel: messages that each belong to one stream.
 *
 *     ┌────────┬───────────┬─────────┐
 *     │ kind 1 │ stream  4 │ payload │
 *     └────────┴───────────┴─────────┘
 *
 *     open    → the request, as JSON            answer  ← status and headers, as JSON
 *     data    ↔ bytes, within the credit        credit  ↔ bytes that may follow (4 bytes)
 *     end     ↔ no more bytes from this side    reset   ↔ the stream is over, and why (text)
 *
 * The control plane opens streams, the agent responds. Credit starts with `firstCreditBytes` in
 * either direction.
 */
export const muxProtocol = "v1.tunnel.workload.kcp.io";

export const frameKind = { open: 1, answer: 2, data: 3, credit: 4, end: 5, reset: 6 } as const;

/** With its headers, less than 64 KiB. */
export const dataBytesMax = 60 << 10;
export const headBytes = 5;
export const firstCreditBytes = 256 << 10;
/**
 * The credit of a stream whose reader keeps up grows to this limit: connections to distant clusters
 * have a high latency.
 */
export const creditBytesMax = 2 << 20;
/** The limit of bytes buffered in all streams of a tunnel for slow readers. */
export const tunnelCreditBytesMax = 64 << 20;
/** The longest message: a request contains a command. */
export const messageBytesMax = 256 << 10;

export function frameHead(kind: number, stream: number): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head[0] = kind;
  head.writeUInt32BE(stream, 1);
  return head;
}
