import { createServer } from "node:net";

/**
 * Ports on the loopback that nobody listens on now. Another process may take one before the caller does: a
 * server that can listen on port 0 itself does not need this.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map(({ port }) => port);
  await Promise.all(servers.map(({ close }) => close()));
  return ports;
}

function listen(): Promise<{ port: number; close: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") return reject(new Error("no port"));
      const close = () => new Promise<void>((done) => server.close(() => done()));
      resolve({ port: address.port, close });
    });
  });
}
