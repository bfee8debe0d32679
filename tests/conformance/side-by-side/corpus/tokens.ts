/** Tokens of service accounts, asked for and looked at. */
import type { CorpusTopic } from "../corpus-request.ts";
import { grantWorkspaceAccess, impersonating, namespace, post } from "../requests.ts";

const at = "/api/v1/namespaces/tokens";
const token = `${at}/serviceaccounts/robot/token`;
const review = "/apis/authentication.k8s.io/v1/tokenreviews";
const request = (spec: object = {}) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  spec,
});

export const tokens: CorpusTopic = {
  name: "tokens",
  requests: [
    namespace("tokens"),
    ...grantWorkspaceAccess("erin"),
    post("an account", `${at}/serviceaccounts`, { metadata: { name: "robot" } }),
    post("a token", token, request(), { view: withoutToken }),
    post(
      "for an hour, for somebody",
      token,
      { ...request({ expirationSeconds: 3600, audiences: ["vault", "other"] }) },
      { view: withoutToken },
    ),
    post("for the server", token, request({ expirationSeconds: 600 }), {
      view: withoutToken,
      save: { token: "status.token", audience: "spec.audiences.0" },
    }),
    post("for too short a time", token, request({ expirationSeconds: 599 })),
    post("for too long a time", token, request({ expirationSeconds: 4294967297 })),
    post(
      "with a name of its own",
      token,
      { ...request(), metadata: { name: "robot" } },
      { view: withoutToken },
    ),
    post("with another name", token, { ...request(), metadata: { name: "other" } }),
    post("in another namespace", token, { ...request(), metadata: { namespace: "other" } }),
    post("bound to nothing", token, request({ boundObjectRef: {} })),
    post("bound to a kind that is none", token, {
      ...request({ boundObjectRef: { apiVersion: "v1", kind: "ConfigMap", name: "a" } }),
    }),
    post("bound to a secret that is not there", token, {
      ...request({ boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "none" } }),
    }),
    post(
      "a secret",
      `${at}/secrets`,
      { metadata: { name: "bound" } },
      { save: { uid: "metadata.uid" } },
    ),
    post(
      "bound to a secret",
      token,
      { ...request({ boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "bound" } }) },
      { view: withoutToken },
    ),
    post("bound to a secret of another uid", token, {
      ...request({
        boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "bound", uid: "other" },
      }),
    }),
    post("of an account that is not there", `${at}/serviceaccounts/none/token`, request()),
    post("of another kind", token, { apiVersion: "v1", kind: "ConfigMap" }),
    post("by somebody", token, request(), impersonating("erin")),
    post("looked at", review, { spec: { token: "${token}" } }, { view: withoutIdentity }),
    post(
      "looked at by others",
      review,
      { spec: { token: "${token}", audiences: ["vault"] } },
      { view: withoutIdentity },
    ),
    post(
      "looked at for one of two",
      review,
      { spec: { token: "${token}", audiences: ["vault", "${audience}"] } },
      { view: withoutIdentity },
    ),
    post("a secret for a token of nobody", `${at}/secrets`, {
      metadata: { name: "nobody" },
      type: "kubernetes.io/service-account-token",
    }),
  ],
};

/**
 * The token, its identity and whom a token is for by default: other ones each time, or of our own
 * name.
 */
function withoutToken(body: unknown): unknown {
  return masked(body, (key, value) => (key === "token" ? String(value).split(".").length : value));
}

function withoutIdentity(body: unknown): unknown {
  return masked(body, (key, value) => {
    if (key === "token") return "";
    return key === "authentication.kubernetes.io/credential-id" ? ["<credential>"] : value;
  });
}

function masked(body: unknown, replace: (key: string, value: unknown) => unknown): unknown {
  const text = JSON.stringify(body, replace);
  return JSON.parse(text.replaceAll(/https:\/\/(?:kubernetes|kcp)\.default\.svc/g, "<issuer>"));
}
