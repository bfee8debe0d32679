import assert from "node:assert/strict";
import { createServer, type LookupFunction } from "node:net";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import { isPrivateAddress, restrictedLookup } from "./private-addresses.ts";
import { WebhookClient } from "./webhook-client.ts";

const answer = bounds.admissionAnswer;

describe("private addresses", () => {
  const inside = [
    "127.0.0.1",
    "127.255.255.255",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "::",
    "::1",
    "fe80::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "no address",
  ];
  for (const address of inside)
    it(`include ${address}`, () => assert.equal(isPrivateAddress(address), true));

  for (const address of [
    "8.8.8.8",
    "172.32.0.1",
    "172.15.255.255",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
  ])
    it(`do not include ${address}`, () => assert.equal(isPrivateAddress(address), false));
});

describe("a webhook client that denies private addresses", () => {
  for (const host of [
    "localhost",
    "127.0.0.1",
    "[::1]",
    "2130706433",
    "0x7f.1",
    "[::ffff:127.0.0.1]",
  ]) {
    it(`does not connect to ${host}, by name or by address`, async (t) => {
      let connections = 0;
      const server = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((resolve) => server.listen(0, resolve));
      t.after(() => server.close());
      const { port } = server.address() as { port: number };
      const client = new WebhookClient({ clock: systemClock, denyPrivateAddresses: true });
      t.after(() => client.close());
      const config = { url: `https://${host}:${port}/`, service: undefined, caBundle: "" };
      await assert.rejects(
        client.post(config, {}, { answer }),
        /webhooks at private addresses are not allowed here$/,
      );
      assert.equal(connections, 0);
    });
  }
});

describe("a webhook whose name changes its addresses", () => {
  const resolver = (answers: string[][]): LookupFunction => {
    return (_name, _options, callback) => {
      const addresses = answers.shift() ?? [];
      callback(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      );
    };
  };
  const resolved = (lookup: LookupFunction, all: boolean) =>
    new Promise<unknown>((resolve, reject) =>
      lookup("rebound.example", { all }, (error, address) =>
        error === null ? resolve(address) : reject(error),
      ),
    );

  it("is called at its public addresses only, and not called when it has none any more", async () => {
    const lookup = restrictedLookup(
      resolver([["127.0.0.1", "203.0.113.1"], ["10.0.0.1", "203.0.113.2"], ["10.0.0.1"], []]),
    );
    assert.equal(await resolved(lookup, false), "203.0.113.1");
    assert.deepEqual(await resolved(lookup, true), [{ address: "203.0.113.2", family: 4 }]);
    await assert.rejects(resolved(lookup, true), /private addresses are not allowed here$/);
    await assert.rejects(resolved(lookup, false), /private addresses are not allowed here$/);
  });

  it("is resolved by the connection itself: no earlier result is used and none is cached", async (t) => {
    const asked: string[] = [];
    const client = new WebhookClient({
      clock: systemClock,
      denyPrivateAddresses: true,
      resolve: (name, _options, callback) => {
        asked.push(name);
        callback(null, [{ address: "127.0.0.1", family: 4 }]);
      },
    });
    t.after(() => client.close());
    const config = { url: "https://rebound.example/", service: undefined, caBundle: "" };
    for (let call = 1; call <= 2; call++) {
      await assert.rejects(
        client.post(config, {}, { answer }),
        /private addresses are not allowed here$/,
      );
      assert.equal(asked.length, call);
    }
  });
});
