import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SyncTarget } from "../api/index.ts";
import {
  checkRegisteredServer,
  registeredServerAnnotation,
  serverIn,
} from "./registered-server.ts";

function kubeconfig(cluster: object, token = "t"): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token } }],
  });
}

const east = "https://east.example:6443";
const registered = (server: string | undefined): SyncTarget => ({
  apiVersion: "workload.kcp.io/v1alpha1",
  kind: "SyncTarget",
  metadata: {
    name: "east",
    ...(server === undefined ? {} : { annotations: { [registeredServerAnnotation]: server } }),
  },
});

describe("kubeconfig in a Secret", () => {
  it("a kubeconfig for the registered server is used, with any credentials", () => {
    for (const text of [kubeconfig({ server: east }), kubeconfig({ server: east }, "renewed")])
      assert.equal(checkRegisteredServer(registered(east), text), text);
    const proxied = kubeconfig({ server: east, "proxy-url": "http://proxy.example:3128" });
    assert.equal(checkRegisteredServer(registered(serverIn(proxied)), proxied), proxied);
  });

  it("a kubeconfig is rejected if it names another server, port or proxy, or if no server was registered", () => {
    for (const [server, cluster] of [
      [east, { server: "https://west.example:6443" }],
      [east, { server: "https://east.example:6444" }],
      [east, { server: east, "proxy-url": "http://evil.example:3128" }],
      [undefined, { server: east }],
    ] as const) {
      const led = checkRegisteredServer(registered(server), kubeconfig(cluster));
      assert.ok(typeof led !== "string", JSON.stringify(cluster));
      assert.equal(led.reason, "ServerNotRegistered");
    }
  });
});
