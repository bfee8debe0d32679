/**
 * A balancer of connections for tests: one address in front of several servers, in turns, without
 * health checks. A connection to a server that is gone is tried at the next one.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface OneAddress {
  readonly port: number;
  close(): Promise<void>;
}

export async function startOneAddress(ports: readonly number[]): Promise<OneAddress> {
  const open = new Set<Socket>();
  let turn = 0;
  const dial = (client: Socket, attempts: number): void => {
    const port = ports[turn++ % ports.length] as number;
    const server = connect(port, "127.0.0.1");
    let isOpen = false;
    server.once("connect", () => {
      isOpen = true;
      client.pipe(server);
      server.pipe(client);
    });
    // Both ends close together, whichever fails first.
    server.on("error", () => {
      if (!isOpen && attempts > 1 && !client.destroyed) dial(client, attempts - 1);
      else client.destroy();
    });
    server.on("close", () => isOpen && client.destroy());
    client.once("close", () => server.destroy());
  };
  const listener = createServer((client) => {
    open.add(client);
    client.on("close", () => open.delete(client));
    client.on("error", () => client.destroy());
    dial(client, ports.length);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    close: async () => {
      for (const socket of open) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}
