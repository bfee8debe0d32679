import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { addressOfEndpoints, addressOfService } from "./service-endpoint.ts";

const metadata = { name: "hook" };
const ports = [{ port: 443, name: "https", targetPort: 8443 }];
const service = (spec: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  metadata,
  spec: { ports, ...spec },
  ...more,
});
const slice = (more: JsonObject = {}): JsonObject => ({
  addressType: "IPv4",
  ports: [{ name: "https", port: 8443 }],
  endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready: true } }],
  ...more,
});
const pick = (slices: JsonObject[], of = service(), chance = 0) =>
  addressOfEndpoints(of, 443, { slices, endpoints: undefined }, () => chance);

describe("the address of a Service", () => {
  it("is the external name with the requested port, also one that the Service does not name", () => {
    const external = service({ type: "ExternalName", externalName: "hook.example.com", ports: [] });
    assert.deepEqual(addressOfService(external, 8443), { host: "hook.example.com", port: 8443 });
  });

  it("is its load balancer's, by address or name, once there is one", () => {
    const balanced = (ingress: JsonObject[]) =>
      addressOfService(
        service({ type: "LoadBalancer" }, { status: { loadBalancer: { ingress } } }),
        443,
      );
    assert.deepEqual(balanced([{ ip: "203.0.113.7" }]), { host: "203.0.113.7", port: 443 });
    assert.deepEqual(balanced([{ hostname: "lb.example.com" }]), {
      host: "lb.example.com",
      port: 443,
    });
    assert.equal(balanced([]), undefined);
  });

  it("comes from the endpoints otherwise, with any cluster IP", () => {
    for (const spec of [{}, { type: "NodePort" }, { type: "ClusterIP", clusterIP: "10.0.0.1" }])
      assert.equal(addressOfService(service(spec), 443), undefined);
  });

  it("is an error in the words of Kubernetes when there is no such port, or no such type", () => {
    assert.throws(() => addressOfService(service(), 80), {
      message: 'no service port 80 found for service "hook"',
    });
    assert.throws(() => addressOfService(service({ type: "Magic" }), 443), {
      message: 'unsupported service type "Magic"',
    });
  });
});

describe("the address of a Service's endpoints", () => {
  it("is one that is ready, by the port of the same name", () => {
    const found = pick([
      slice({ ports: [{ name: "metrics", port: 9090 }] }),
      slice({
        endpoints: [
          { addresses: ["10.1.0.2"], conditions: { ready: false } },
          { addresses: ["10.1.0.3", "10.9.9.9"] },
        ],
      }),
    ]);
    assert.deepEqual(found, { host: "10.1.0.3", port: 8443 });
  });

  it("is any of them in turn, over all slices", () => {
    const slices = [slice(), slice({ endpoints: [{ addresses: ["10.1.0.2"] }] })];
    assert.equal(pick(slices, service(), 0).host, "10.1.0.1");
    assert.equal(pick(slices, service(), 0.99).host, "10.1.0.2");
  });

  it("is of the Service's preferred IP family, if there is one", () => {
    const six = slice({ addressType: "IPv6", endpoints: [{ addresses: ["fd00::1"] }] });
    const prefers = service({ ipFamilies: ["IPv6", "IPv4"] });
    assert.equal(pick([slice(), six], prefers).host, "fd00::1");
    assert.equal(pick([slice()], prefers).host, "10.1.0.1");
  });

  it("is not a name: FQDN slices are ignored", () => {
    const named = slice({ addressType: "FQDN", endpoints: [{ addresses: ["a.example.com"] }] });
    assert.throws(() => pick([named]), { message: 'no endpoints available for service "hook"' });
  });

  it("is that of the Endpoints where there are no slices", () => {
    const endpoints = {
      subsets: [
        { addresses: [{ ip: "10.2.0.1" }], ports: [{ name: "other", port: 1 }] },
        {
          notReadyAddresses: [{ ip: "10.2.0.2" }],
          addresses: [{ ip: "10.2.0.3" }],
          ports: [{ name: "https", port: 9443 }],
        },
      ],
    };
    const found = addressOfEndpoints(service(), 443, { slices: [], endpoints }, () => 0);
    assert.deepEqual(found, { host: "10.2.0.3", port: 9443 });
  });

  for (const [what, broken] of [
    ["nothing", {}],
    ["text where lists are", { endpoints: "x", ports: "y" }],
    ["ports that are none", { ports: [{ name: "https", port: 70_000 }] }],
    ["addresses that are numbers", { endpoints: [{ addresses: [7] }] }],
    ["nobody", { endpoints: [null, 1, { addresses: [] }] }],
  ] as const)
    it(`is none when a slice has ${what}`, () => {
      const given = what === "nothing" ? {} : slice(broken);
      assert.throws(() => pick([given]), { message: /no endpoints available for service "hook"/ });
    });
});
