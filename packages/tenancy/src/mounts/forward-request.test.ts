/**
 * Goal: forwarded requests reach no forbidden host, carry no reusable credentials, and cannot
 * exhaust the shared limits.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiRequest } from "@kcp-ts/apiserver/request/api-request";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type ForwarderOptions,
  forwardedPerClusterMax,
  RequestForwarder,
  sessionsPerClusterMax,
} from "./index.ts";

const one = "one" as ClusterName;
const alice: UserInfo = { username: "alice", groups: [] };

function requestOf(
  readBody: ApiRequest["readBody"] = async () => new Uint8Array(),
  headers: ApiRequest["headers"] = {},
): ApiRequest {
  return {
    method: "POST",
    target: "/clusters/root:org:far/api",
    headers,
    remoteAddress: "127.0.0.1",
    clientCertificate: undefined,
    onClose: () => {},
    readBody,
  };
}

const privateHosts = ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]"];

function setUp(options: Partial<ForwarderOptions> = {}) {
  const told: string[] = [];
  const forwarder = new RequestForwarder({
    onError: (error) => told.push((error as Error).message),
    allowedHosts: [...privateHosts, "far.example.com"],
    ...options,
  });
  const { signal } = new AbortController();
  const forward = (url: string, more: { request?: ApiRequest; user?: UserInfo } = {}) =>
    forwarder.forward({
      request: requestOf(),
      user: alice,
      cluster: one,
      isWatch: false,
      signal,
      ...more,
      url,
      path: "/api",
    });
  return { forwarder, forward, told };
}

describe("a forwarded request", () => {
  for (const host of privateHosts) {
    it(`does not go to ${host} where private addresses are denied`, async () => {
      const { forward, forwarder, told } = setUp({ denyPrivateAddresses: true });
      await assert.rejects(forward(`https://${host}/x`), (error) =>
        isStatusError(error, "ServiceUnavailable"),
      );
      assert.match(told.join(), /private addresses are not allowed/);
      forwarder.close();
    });
  }

  it("does not go to a name that resolves to a private address", async () => {
    const { forward, forwarder, told } = setUp({
      denyPrivateAddresses: true,
      resolve: (_name, _options, callback) => callback(null, [{ address: "10.1.2.3", family: 4 }]),
    });
    await assert.rejects(forward("https://far.example.com/x"), (error) =>
      isStatusError(error, "ServiceUnavailable"),
    );
    assert.match(told.join(), /private addresses are not allowed/);
    forwarder.close();
  });

  it("is rejected when its user's name is invalid in a header", async () => {
    const { forward, forwarder } = setUp({ denyPrivateAddresses: true });
    for (const username of ["a\r\nx-remote-group: system:masters", "日本", "a\0"])
      await assert.rejects(
        forward("https://far.example.com/x", { user: { username, groups: [] } }),
        (error) => isStatusError(error, "BadRequest"),
      );
    forwarder.close();
  });

  const sessionHeaders = { connection: "Upgrade", upgrade: "websocket" };
  for (const [what, max, headers] of [
    ["requests", forwardedPerClusterMax, {}],
    ["sessions", sessionsPerClusterMax, sessionHeaders],
  ] as const) {
    it(`is one of ${max} ${what} of its logical cluster at most`, async () => {
      const { forward, forwarder } = setUp({ denyPrivateAddresses: true });
      let release = () => {};
      const held = new Promise<Uint8Array>((resolve) => {
        release = () => resolve(new Uint8Array());
      });
      const request = requestOf(() => held, headers);
      const another = () =>
        forward("https://127.0.0.1/x", { request: requestOf(undefined, headers) });
      const underWay = Array.from({ length: max }, () =>
        forward("https://127.0.0.1/x", { request }),
      );
      await assert.rejects(another(), (error) => isStatusError(error, "TooManyRequests"));
      release();
      for (const { status } of await Promise.allSettled(underWay)) assert.equal(status, "rejected");
      // The earlier requests have ended, so another one is accepted.
      await assert.rejects(another(), (error) => isStatusError(error, "ServiceUnavailable"));
      forwarder.close();
    });
  }
});
