/**
 * Real TLS servers on loopback for the transport's tests, with certificates made by openssl in a
 * temporary folder.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

/**
 * A CA, a server certificate for `localhost` and `kubernetes` (not for 127.0.0.1), and a client
 * certificate for `alice`.
 */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), "sdk-certs-"));
  const openssl = (...args: string[]) => {
    execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  };
  const issue = (name: string, subject: string, extensions: string) => {
    writeFileSync(join(folder, `${name}.ext`), extensions);
    openssl(
      ..."req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(" "),
      ...["-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject],
    );
    openssl(
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.crt", "-CAkey", "ca.key"],
      ...["-CAcreateserial", "-days", "2", "-out", `${name}.crt`, "-extfile", `${name}.ext`],
    );
  };
  try {
    openssl(
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(" "),
      ...["-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test-ca"],
    );
    issue("server", "/CN=server", "subjectAltName=DNS:localhost,DNS:kubernetes\n");
    issue("client", "/CN=alice", "extendedKeyUsage=clientAuth\n");
    const read = (file: string) => readFileSync(join(folder, file), "utf8");
    return {
      ca: read("ca.crt"),
      cert: read("server.crt"),
      key: read("server.key"),
      clientCert: read("client.crt"),
      clientKey: read("client.key"),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface TestServer {
  readonly url: URL;
  readonly port: number;
  close(): Promise<void>;
}

export async function startHttp2Server(
  certificates: Certificates,
  handler: Handler,
  port = 0,
  onServer: (server: Http2SecureServer) => void = () => {},
): Promise<TestServer> {
  const { cert, key, ca } = certificates;
  const server = createSecureServer(
    { cert, key, ca, requestCert: true, rejectUnauthorized: false },
    handler,
  );
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
  });
  onServer(server);
  return listen(server, port, () => {
    for (const session of sessions) session.destroy();
  });
}

export async function startHttp1Server(
  certificates: Certificates,
  handler: Handler,
  port = 0,
): Promise<TestServer> {
  const { cert, key } = certificates;
  const server = createHttpsServer({ cert, key }, handler as never);
  return listen(server, port, () => server.closeAllConnections());
}

async function listen(server: Server, wantedPort: number, endAll: () => void): Promise<TestServer> {
  await new Promise<void>((resolve) => {
    server.listen(wantedPort, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`https://localhost:${port}`),
    port,
    async close() {
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      endAll();
      await closed;
    },
  };
}
