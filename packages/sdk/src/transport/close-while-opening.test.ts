/** A transport that is closed before the server has begun the session. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createServer, type TLSSocket } from "node:tls";
import { makeCertificates } from "../fake-server/index.ts";
import { NodeTransport } from "./node-transport.ts";

/** An empty SETTINGS frame: RFC 9113, 6.5. */
const settingsFrame = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe("a transport that is closed while a session begins", () => {
  it("fails the request, and leaves no connection behind", async () => {
    const { ca, cert, key } = makeCertificates();
    const server = createServer({ cert, key, ALPNProtocols: ["h2"] });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = new URL(`https://localhost:${port}`);
    const transport = new NodeTransport({ url, tls: () => ({ ca }) });
    try {
      const connected = once(server, "secureConnection") as Promise<[TLSSocket]>;
      const answer = transport.send({ method: "GET", path: "/", headers: {} });
      const refused = assert.rejects(answer, { name: "TransportError", code: "closed" });
      const [socket] = await connected;
      socket.on("error", () => undefined);
      const ended = once(socket, "close");
      // The client has sent its preface, and waits for the server's settings.
      await once(socket, "data");
      await transport.close();
      socket.write(settingsFrame);
      await refused;
      await ended;
    } finally {
      server.close();
    }
  });
});
