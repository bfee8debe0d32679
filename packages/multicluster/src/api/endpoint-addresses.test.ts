import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  addressesMax,
  isSharedIngress,
  sharedAddresses,
  sharedStatus,
} from "./endpoint-addresses.ts";

describe("addresses of a cluster's endpoints", () => {
  const isShared = (addressType: string, ...addresses: unknown[]) =>
    sharedAddresses(addressType, { addresses } as never) !== undefined;

  it("ordinary addresses of their type are published", () => {
    assert.ok(isShared("IPv4", "10.1.2.3"));
    assert.ok(isShared("IPv4", "10.1.2.3", "192.0.2.7"));
    assert.ok(isShared("IPv6", "2001:db8::7"));
    assert.ok(isShared("FQDN", "db.example.com"));
  });

  it("loopback, link-local and unspecified addresses are not published, in any spelling", () => {
    for (const address of ["127.0.0.1", "0.0.0.0", "169.254.169.254", "224.0.0.5", "localhost"])
      assert.equal(isShared("IPv4", address), false, address);
    for (const address of [
      ...["::1", "::", "fe80::1", "fe80::1%eth0", "ff02::1", "::ffff:169.254.169.254"],
      ...["::ffff:7f00:1", "10.0.0.1"],
    ])
      assert.equal(isShared("IPv6", address), false, address);
    for (const address of ["127.0.0.1", "localhost", "a..b", "A.example.com", "x/y.com", ""])
      assert.equal(isShared("FQDN", address), false, address);
    for (const address of ["2130706433", "0x7f.1", "127.1", 7, null, {}])
      assert.equal(isShared("IPv4", address), false, String(address));
    assert.equal(isShared("IPv4", "10.1.2.3", "127.0.0.1"), false);
    assert.equal(isShared("Unknown", "10.1.2.3"), false);
    assert.equal(isShared("IPv4"), false);
  });

  it("as many addresses are published as kube-apiserver permits, and no more", () => {
    const many = Array.from({ length: addressesMax + 1 }, (_, index) => `10.0.0.${index}`);
    assert.ok(isShared("IPv4", ...many.slice(0, -1)));
    assert.equal(isShared("IPv4", ...many), false);
  });

  it("addresses of load balancers follow the same rule", () => {
    assert.ok(isSharedIngress({ ip: "192.0.2.1" }));
    assert.ok(isSharedIngress({ hostname: "lb.example.com" }));
    for (const ip of ["127.0.0.1", "169.254.169.254", "nonsense", "::1"])
      assert.equal(isSharedIngress({ ip }), false, ip);
  });
});

describe("load balancers in a status from a cluster", () => {
  const services = { group: "", resource: "services" };
  const statusOf = (...ingress: object[]) => ({ loadBalancer: { ingress }, a: 1 }) as never;

  it("a status whose addresses may all be published is returned as the identical object", () => {
    const status = statusOf({ ip: "203.0.113.7" }, { hostname: "lb.example.com" });
    assert.equal(sharedStatus(services, status), status);
    const none = { loadBalancer: {} };
    assert.equal(sharedStatus(services, none), none);
  });

  it("loopback, link-local and unspecified addresses are removed from Services and Ingresses, in any spelling", () => {
    const hidden = [
      ...[{ ip: "169.254.169.254" }, { ip: "127.0.0.1" }, { ip: "::ffff:169.254.169.254" }],
      ...[{ hostname: "169.254.169.254" }, { hostname: "localhost" }, { ip: "x" }, { ip: 1 }],
    ];
    for (const kind of [services, { group: "networking.k8s.io", resource: "ingresses" }]) {
      const kept = { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] }, a: 1 };
      assert.deepEqual(sharedStatus(kind, statusOf(...hidden, { ip: "203.0.113.7" })), kept);
      assert.deepEqual(sharedStatus(kind, statusOf(...hidden)), { loadBalancer: {}, a: 1 });
    }
  });

  it("the status of other kinds is not filtered", () => {
    const status = statusOf({ ip: "127.0.0.1" });
    assert.equal(sharedStatus({ group: "example.com", resource: "services" }, status), status);
  });
});
