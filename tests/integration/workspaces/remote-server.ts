/** For tests of mounts: another server, which accepts sessions and echoes its input. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { systemClock } from "@kcp-ts/machinery/base";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";

export interface ReceivedRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly isUpgrade: boolean;
}

export class RemoteServer {
  readonly received: ReceivedRequest[] = [];
  readonly sessions = new Set<Duplex>();
  readonly #server: Server;
  #url = "";

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<{ far: RemoteServer; caPem: string }> {
    const now = systemClock.now();
    const authority = createCertificateAuthority({ commonName: "far", now });
    const key = generateKey();
    const { certificatePem: cert } = issueCertificate({
      authority,
      key,
      now,
      subject: { commonName: "far" },
      purposes: ["serverAuth"],
      hostnames: ["127.0.0.1"],
    });
    const server = createServer({ cert, key: exportKey(key) });
    const far = new RemoteServer(server);
    server.on("request", (request, response) => {
      far.#hear(request, false);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    server.on("upgrade", (request, connection: Duplex) => far.#agree(request, connection));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    far.#url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/far`;
    return { far, caPem: authority.certificatePem };
  }

  get url(): string {
    return this.#url;
  }

  /** As an operator writes it in a list. */
  get host(): string {
    return new URL(this.#url).host;
  }

  get last(): ReceivedRequest {
    return this.received.at(-1) as ReceivedRequest;
  }

  async close(): Promise<void> {
    for (const connection of this.sessions) connection.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #hear({ url = "", method = "", headers }: IncomingMessage, isUpgrade: boolean): void {
    this.received.push({ url, method, headers, isUpgrade });
  }

  #agree(request: IncomingMessage, connection: Duplex): void {
    this.#hear(request, true);
    connection.on("error", () => {});
    const { url = "", headers } = request;
    if (url.includes("/refused/"))
      return void connection.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 7\r\n\r\nno, sir");
    const protocol = url.includes("/other/") ? "h2c" : headers.upgrade;
    this.sessions.add(connection);
    connection.once("close", () => this.sessions.delete(connection));
    connection.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n` +
        "x-stream-protocol-version: v4.channel.k8s.io\r\nset-cookie: a=b\r\nlocation: /x\r\n\r\nhello ",
    );
    connection.pipe(connection);
  }
}
