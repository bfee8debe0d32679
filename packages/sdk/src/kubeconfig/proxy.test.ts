import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { proxyFor } from "./proxy.ts";

describe("the proxy", () => {
  const through = (server: string, env: Record<string, string>, proxyUrl?: string) =>
    proxyFor(new URL(server), proxyUrl, env)?.host;

  it("is the kubeconfig's, or the environment's unless the server is exempt", () => {
    const env = { HTTPS_PROXY: "p:1", NO_PROXY: "a.io, .b.io,10.0.0.0/8,c.io:8443,fd00::/8" };
    assert.equal(through("https://x.io", env), "p:1");
    assert.equal(through("http://x.io", env), undefined);
    assert.equal(through("https://x.io", env, "http://q:2"), "q:2");
    for (const host of [
      "a.io",
      "s.a.io",
      "s.b.io",
      "10.1.2.3",
      "c.io:8443",
      "localhost",
      "127.0.0.1",
      "[fd00::1]",
    ]) {
      assert.equal(through(`https://${host}`, env), undefined, host);
    }
    for (const host of ["b.io", "xa.io", "11.1.2.3", "c.io", "[fe00::1]"]) {
      assert.equal(through(`https://${host}`, env), "p:1", host);
    }
    assert.equal(through("https://x.io", { https_proxy: "http://r:3", no_proxy: "*" }), undefined);
    for (const url of ["https://s:4", "socks5://s:4", "socks5h://s:4"]) {
      assert.equal(through("https://x.io", {}, url), "s:4");
    }
    assert.throws(() => through("https://x.io", {}, "socks4://s:4"), /only http, https and socks5/);
  });
});
