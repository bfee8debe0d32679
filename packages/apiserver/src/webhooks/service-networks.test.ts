/**
 * Goal: no Service of a tenant leads to this machine or its link, in any notation of an address.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { serviceAddressRule } from "./service-networks.ts";
import { WebhookClient } from "./webhook-client.ts";

const answer = bounds.admissionAnswer;

const rule = (denyPrivateAddresses = false, serviceNetworks: string[] = []) =>
  serviceAddressRule({ denyPrivateAddresses, serviceNetworks });

const ofTheMachine = [
  "127.0.0.1",
  "127.8.8.8",
  "0.0.0.0",
  "169.254.169.254",
  "168.63.129.16",
  "100.100.100.200",
  "192.0.0.192",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "fe80::1",
  "fe80::1%lo",
  "fd00:ec2::254",
  "ff02::1",
  "127.1",
  "not an address",
];

describe("the networks that Services may lead to", () => {
  it("never include this machine, its link, or the metadata services of cloud providers", () => {
    for (const address of ofTheMachine) assert.equal(rule()(address), true, address);
  });

  it("include private networks unless these are denied", () => {
    for (const address of ["10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1", "fd12::1"]) {
      assert.equal(rule()(address), false, address);
      assert.equal(rule(true)(address), true, address);
    }
    for (const address of ["203.0.113.1", "2606:4700::1111"])
      assert.equal(rule(true)(address), false, address);
  });

  it("include the networks that the operator names, and no others", () => {
    const named = rule(true, ["10.96.0.0/12", "fd12::/16", "127.0.0.9/32"]);
    for (const address of [
      "10.96.0.1",
      "10.111.255.255",
      "::ffff:10.96.0.1",
      "fd12::7",
      "127.0.0.9",
    ])
      assert.equal(named(address), false, address);
    for (const address of ["10.112.0.0", "10.95.255.255", "fd13::7", "127.0.0.8", "fd12::7%eth0"])
      assert.equal(named(address), true, address);
  });

  for (const text of [
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/",
    "/8",
    "x/8",
    "10.0.0.0/8/9",
    "fe80::%a/10",
  ])
    it(`is not said by ${JSON.stringify(text)}`, () => {
      assert.throws(() => rule(false, [text]), /is no network/);
    });
});

describe("a webhook at a Service that leads", () => {
  const service = { namespace: "n", name: "hook", path: undefined, port: 443 };
  const post = (client: WebhookClient) =>
    client.post(
      { url: undefined, service, caBundle: "" },
      {},
      { answer, cluster: "a" as ClusterName },
    );

  for (const host of [...ofTheMachine.slice(0, -2), "2130706433", "0x7f.1", "127.1", "localhost"])
    it(`to ${host} is not called`, async (t) => {
      const serviceObjects = async () => ({ host, port: 1 });
      const client = new WebhookClient({ clock: systemClock, serviceObjects });
      t.after(() => client.close());
      await assert.rejects(post(client), /webhooks at private addresses are not allowed here$/);
    });

  it("to a name is called at the checked address, and a name that changes its addresses gains nothing", async (t) => {
    const answers = ["203.0.113.1", "127.0.0.1"];
    const asked: string[] = [];
    const client = new WebhookClient({
      clock: systemClock,
      serviceObjects: async () => ({ host: "rebound.example", port: 1 }),
      resolve: (name, _options, callback) => {
        asked.push(name);
        const address = answers.pop() as string;
        callback(null, [{ address, family: 4 }]);
      },
    });
    t.after(() => client.close());
    await assert.rejects(post(client), /private addresses are not allowed here$/);
    assert.deepEqual(asked, ["rebound.example"]);
  });

  it("to an empty name is not called, on this machine or another", async (t) => {
    const serviceObjects = async () => ({ host: "", port: 1 });
    const serviceNetworks = ["127.0.0.0/8"];
    const client = new WebhookClient({ clock: systemClock, serviceObjects, serviceNetworks });
    t.after(() => client.close());
    await assert.rejects(post(client), /: dial tcp: missing address$/);
  });

  it("to any address is called with its own name, whatever its path looks like", async (t) => {
    const client = new WebhookClient({ clock: systemClock, serviceObjects: async () => undefined });
    t.after(() => client.close());
    const config = {
      url: undefined,
      service: { ...service, path: "//evil.example/x" },
      caBundle: "",
    };
    await assert.rejects(client.post(config, {}, { answer }), {
      message:
        'Post "https://hook.n.svc:443//evil.example/x?timeout=30s": service "hook" not found',
    });
  });

  it("to no address is not found", async (t) => {
    const client = new WebhookClient({ clock: systemClock, serviceObjects: async () => undefined });
    t.after(() => client.close());
    await assert.rejects(post(client), {
      message: 'Post "https://hook.n.svc:443/?timeout=30s": service "hook" not found',
    });
  });
});
