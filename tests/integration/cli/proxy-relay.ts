/**
 * For tests: a proxy between agents and a control plane, whose connections end with each other, and
 * which may let no WebSockets through. It reads no more than the first bytes of a connection, in
 * which a TLS client says what it speaks: who asks for a WebSocket offers HTTP/1.1 alone, everybody
 * else HTTP/2, too.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** As it stands in a ClientHello: its length, and the name. */
const http2Offer = "\x02h2";

export interface ProxyRelay {
  readonly port: number;
  /** Connections that were ended because they ask for a WebSocket. */
  readonly refused: number;
  close(): Promise<void>;
}

export async function proxyRelay(
  target: number,
  { letsWebSockets }: { readonly letsWebSockets: boolean },
): Promise<ProxyRelay> {
  const sockets = new Set<Socket>();
  let refused = 0;
  const relay = createServer((near) => {
    sockets.add(near);
    near.on("error", () => near.destroy());
    near.once("data", (hello) => {
      if (!letsWebSockets && !hello.includes(http2Offer)) {
        refused++;
        near.destroy();
        return;
      }
      const far = connect(target, "127.0.0.1");
      sockets.add(far);
      far.on("error", () => far.destroy());
      far.on("close", () => near.destroy());
      near.on("close", () => far.destroy());
      far.write(hello);
      near.pipe(far);
      far.pipe(near);
    });
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  return {
    port: (relay.address() as AddressInfo).port,
    get refused() {
      return refused;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}
