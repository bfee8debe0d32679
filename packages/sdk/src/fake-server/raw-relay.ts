/**
 * A relay of bytes that can stop forwarding without closing a connection: a half-open connection.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, connect as netConnect, type Socket } from "node:net";

export async function rawRelay(target: number, isFrozen: () => boolean) {
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const upstream = netConnect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
    client.on("data", (chunk) => isFrozen() || upstream.write(chunk));
    upstream.on("data", (chunk) => isFrozen() || client.write(chunk));
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  return {
    port: (relay.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}
