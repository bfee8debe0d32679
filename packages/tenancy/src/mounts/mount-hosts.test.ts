import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseMountHosts } from "./mount-hosts.ts";

describe("the list of hosts that workspaces may be mounted from", () => {
  const hosts = parseMountHosts([
    "Mounts.example.com",
    "other.example.com:6443",
    "*.edge.example.com",
    "[2001:db8::1]:8443",
    "192.0.2.1",
  ]);
  const allows = (url: string) => hosts.allows(new URL(url));

  it("allows a host at the port of its entry, and at 443 without a port", () => {
    assert.equal(allows("https://mounts.example.com/x"), true);
    assert.equal(allows("https://MOUNTS.example.com:443/x"), true);
    assert.equal(allows("https://mounts.example.com:6443/x"), false);
    assert.equal(allows("https://other.example.com:6443/x"), true);
    assert.equal(allows("https://other.example.com/x"), false);
    assert.equal(allows("https://[2001:db8:0::1]:8443/x"), true);
    assert.equal(allows("https://192.0.2.1/x"), true);
    assert.equal(allows("https://0xc0000201/x"), true);
  });

  it("allows names below a wildcard, and not the name itself or a name with the same ending", () => {
    assert.equal(allows("https://a.edge.example.com/"), true);
    assert.equal(allows("https://a.b.edge.example.com/"), true);
    assert.equal(allows("https://edge.example.com/"), false);
    assert.equal(allows("https://a.hedge.example.com/"), false);
    assert.equal(allows("https://xedge.example.com/"), false);
    assert.equal(allows("https://a.edge.example.com.evil.net/"), false);
    assert.equal(allows("https://mounts.example.com@evil.net/"), false);
  });

  it("allows nothing when it is empty", () => {
    assert.equal(parseMountHosts([]).allows(new URL("https://mounts.example.com")), false);
  });

  it("rejects entries that are not hosts", () => {
    for (const entry of ["", "*", "*.", "https://x", "a/b", "a@b", "a b", "*.*.c", "x:99999"])
      assert.throws(() => parseMountHosts([entry]), /is no host/, entry);
  });
});
