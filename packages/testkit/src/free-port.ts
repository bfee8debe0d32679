/**
 * Free ports on the loopback, for servers that cannot choose one themselves (port 0).
 *
 * They are below the system's ephemeral ports, which it assigns to listeners on port 0 and to
 * connections: an ephemeral port could be assigned to another process before the caller listens on
 * it, and on a busy machine this happens. Each process begins at a different port and continues
 * from there, so that concurrent processes do not collide either.
 */
import { createServer } from "node:net";

/** Linux hands out ports from 32,768 on, other systems from 49,152 on. */
export const portMin = 12_000;
export const portsCount = 20_000;
/** How many ports a process takes before it reaches the first port of the next one. */
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
