/**
 * Ports on the loopback that nobody listens on, for servers that cannot be told to choose one themselves (port 0).
 *
 * They come from below those that the system hands out, to listeners on port 0 and to connections: one of these could go to
 * somebody else before the caller listens on it, and on a busy machine once in a while it does. A process begins
 * at a place of its own and goes on from there, so that processes beside each other do not meet either.
 */
import { createServer } from "node:net";

/** Linux hands out ports from 32,768 on, other systems from 49,152 on. */
export const portMin = 12_000;
export const portsCount = 20_000;
/** How many a process takes before it comes to where the next one began. */
const stride = 97;

let taken = 0;

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    if (taken >= portsCount) throw new Error("no port is free");
    const port = portMin + ((process.pid * stride + taken++) % portsCount);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(false);
      else reject(error);
    });
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
