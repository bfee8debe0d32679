/**
 * Goal: what is secret is nowhere in what the process writes or tells others: log at its most
 * talkative, audit at level Metadata, metrics, and refusals to people who did not send it.
 *
 * Method: a canary is a value that occurs nowhere else. One is sent through every door that takes
 * secrets, well-formed and malformed, by those who may and those who may not; then everything is
 * searched for all of them, in plain text and in base64.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseAuditPolicy, type UserInfo } from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { createLog } from "@kcp-ts/controlplane";
import { ControlPlaneCore, processUser } from "@kcp-ts/controlplane/internal";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";

const written: string[] = [];
const audited: string[] = [];
const canaries: string[] = [];

function canary(where: string): string {
  const value = `canary-${where}-${canaries.length}-zq7xk`;
  canaries.push(value);
  return value;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const tenant: UserInfo = { username: "tenant", groups: ["system:authenticated"] };
const secrets = "/api/v1/namespaces/default/secrets";
const json = "application/json";
const merge = "application/merge-patch+json";

describe("canaries", () => {
  let core: ControlPlaneCore;
  const storage = new MemoryStorage();
  const answers: string[] = [];
  before(async () => {
    core = await ControlPlaneCore.compose({
      storage,
      tokens: undefined,
      anonymousAuth: true,
      extensions: {},
      clock: systemClock,
      random: systemRandom,
      log: createLog({ format: "json", verbosity: 9, write: (line) => written.push(line) }),
      audit: {
        policy: parseAuditPolicy({
          apiVersion: "audit.k8s.io/v1",
          kind: "Policy",
          rules: [{ level: "Metadata" }],
        }),
        backends: () => [
          {
            name: "memory",
            write: (event) => void audited.push(JSON.stringify(event)),
            close: async () => {},
          },
        ],
      },
    });
    await core.start();
    await core.server.bootstrap("https://localhost:6443");
    for (const send of doors) await send();
  });
  after(async () => {
    await core.stopControllers();
    await core.server.close();
    await storage.close();
  });

  const send = async (
    method: string,
    target: string,
    sent: {
      readonly body?: object | string;
      readonly type?: string;
      readonly authorization?: string;
      readonly user?: UserInfo;
    } = {},
  ) => {
    const { body, type = json, user = processUser } = sent;
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answer = await core.handle({
      method,
      target,
      headers: {
        authorization: sent.authorization ?? `Bearer ${core.identities.tokenFor(user)}`,
        ...(text === undefined ? {} : { "content-type": type }),
      },
      remoteAddress: "127.0.0.1",
      clientCertificate: undefined,
      onClose: () => {},
      readBody: async () => Buffer.from(text ?? ""),
    });
    const { body: told } = answer;
    return { status: answer.status, text: told instanceof Uint8Array ? String(told) : "" };
  };
  /** Refusals that must not repeat the secret even to its sender, since they are audited. */
  const refused = async (...request: Parameters<typeof send>) => {
    const { status, text } = await send(...request);
    assert.ok(status >= 400, `${request[0]} ${request[1]}: ${status}`);
    answers.push(text);
  };
  const secret = (data: object, more: object = {}) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    ...data,
    ...more,
  });

  const doors: readonly (() => Promise<unknown>)[] = [
    () => send("POST", secrets, { body: secret({ data: { a: base64(canary("data")) } }) }),
    () =>
      send("PATCH", `${secrets}/s`, {
        type: merge,
        body: { stringData: { b: canary("string-data") } },
      }),
    () => send("PUT", `${secrets}/s`, { body: secret({ stringData: { c: canary("put") } }) }),
    () => refused("POST", secrets, { body: secret({ data: { a: `${canary("no-base64")}!` } }) }),
    () => refused("POST", secrets, { body: secret({ data: canary("no-map") }) }),
    () => refused("POST", secrets, { body: secret({ data: { a: [canary("no-text")] } }) }),
    () => refused("POST", secrets, { body: `{"data": ${canary("no-json")}` }),
    () =>
      refused("POST", secrets, {
        type: "application/yaml",
        body: `kind: Secret\ndata: {a: ${canary("no-yaml")}\n  - x`,
      }),
    () =>
      refused("POST", secrets, {
        body: secret(
          { data: { ".dockerconfigjson": base64(`{${canary("docker")}`) } },
          { type: "kubernetes.io/dockerconfigjson", metadata: { name: "d" } },
        ),
      }),
    () =>
      refused("PATCH", `${secrets}/s`, {
        type: "application/json-patch+json",
        body: [{ op: "test", path: "/data/a", value: canary("json-patch") }],
      }),
    () =>
      refused("POST", secrets, {
        user: tenant,
        body: secret({ data: { a: canary("forbidden") } }),
      }),
    () => refused("GET", secrets, { authorization: `Bearer ${canary("token")}` }),
    () => refused("GET", secrets, { authorization: `Bearer eyJ.${canary("jwt")}.x` }),
    () => refused("GET", secrets, { authorization: `Basic ${base64(`u:${canary("basic")}`)}` }),
    () =>
      send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token: canary("review") },
        },
      }),
    () => refused("GET", `https://u:${canary("url")}@host/api`),
    () => send("GET", `${secrets}?access_token=${canary("access-token")}`),
    () => send("GET", `${secrets}?token=${canary("query-token")}&limit=1`),
    () => refused("GET", `/nowhere?password=${canary("query-password")}`),
    () =>
      refused("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
        body: {
          metadata: { name: "w" },
          webhooks: [
            {
              name: "a.b.example",
              admissionReviewVersions: ["v1"],
              sideEffects: "None",
              clientConfig: {
                url: `https://u:${canary("webhook-url")}@host.example/`,
                caBundle: base64(`-----BEGIN PRIVATE KEY-----\n${canary("webhook-key")}\n`),
              },
            },
          ],
        },
      }),
  ];

  it("every door was gone through", () => {
    assert.ok(canaries.length >= doors.length);
    assert.ok(written.some((line) => line.includes('"level":"debug"')));
    assert.ok(audited.some((line) => line.includes('"resource":"secrets"')));
  });

  const places: readonly (readonly [string, () => Promise<readonly string[]>])[] = [
    ["the log", async () => written],
    ["the audit at level Metadata", async () => audited],
    ["refusals", async () => answers],
    ["the metrics", async () => [(await send("GET", "/metrics")).text]],
  ];
  for (const [place, read] of places) {
    it(`are not in ${place}`, async () => {
      const lines = await read();
      assert.ok(lines.length > 0);
      for (const value of canaries)
        for (const form of [value, base64(value).replace(/=+$/, "").slice(0, -2)])
          assert.deepEqual(
            lines.filter((line) => line.includes(form)),
            [],
            value,
          );
    });
  }
});
