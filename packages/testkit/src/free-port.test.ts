import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { freePorts, portMin, portsCount } from "./free-port.ts";

describe("free ports", () => {
  it("are outside the range of ephemeral ports, so the system does not assign them meanwhile", async () => {
    const ports = await freePorts(50);
    assert.equal(new Set([...ports, ...(await freePorts(50))]).size, 100);
    for (const port of ports) assert.ok(port >= portMin && port < portMin + portsCount);
    assert.ok(portMin + portsCount <= 32_768);
  });

  it("leave out the ports on which a server listens", async (t) => {
    const [port = 0] = await freePorts(1);
    const server = createServer().listen(port + 1, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    assert.equal((await freePorts(1)).includes(port + 1), false);
  });
});
