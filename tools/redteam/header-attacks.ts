/** What stands in headers, paths and queries, and small credentials with large content. */
import { type Attack, anySize, get, post, type Step, times } from "./attack.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

const headers: Attack = {
  name: "headers, queries and paths of any length",
  *steps({ random }) {
    const long = (most: number) =>
      random.pick(["a", "%2F", "%00", ",", ".", ":"]).repeat(anySize(random, most));
    const forged = Buffer.from(
      `{"v":"meta.k8s.io/v1","rv":1,"start":"${"x".repeat(anySize(random, 9000))}"}`,
    ).toString("base64url");
    const steps: Step[] = [
      {
        ...get(configMaps),
        headers: { accept: times(anySize(random, 6000), (i) => `a/b${i};q=0.${i % 9}`).join() },
      },
      { ...get(configMaps), headers: { "accept-encoding": "gzip,".repeat(anySize(random, 5000)) } },
      get(
        configMaps,
        `application/json;${times(anySize(random, 4000), (i) => `p${i}=${i}`).join(";")}`,
      ),
      {
        ...get(configMaps),
        headers: Object.fromEntries(
          times(anySize(random, 400), (i) => [`x-h${i}`, "v".repeat(100)]),
        ),
      },
      {
        ...get(configMaps),
        headers: {
          "impersonate-user": "u",
          "impersonate-extra-k": long(20_000).replaceAll("%00", ""),
        },
      },
      {
        ...get(configMaps),
        headers: { authorization: `Bearer ${"ey".repeat(anySize(random, 30_000))}` },
      },
      {
        ...get(configMaps),
        headers: {
          authorization: `Bearer ${Buffer.from('{"alg":"RS256"}').toString("base64url")}.${Buffer.from(`{"iss":"${"x".repeat(9000)}"}`).toString("base64url")}.x`,
        },
      },
      get(`${configMaps}/${long(30_000)}`),
      get(`/api/v1/namespaces/${long(30_000)}/configmaps`),
      get(`/${"a/".repeat(anySize(random, 20_000))}`),
      get(`${configMaps}?continue=${forged}&limit=1`),
      get(`${configMaps}?continue=${long(30_000)}`),
      get(`${configMaps}?${times(anySize(random, 9000), (i) => `q${i}=1`).join("&")}`),
      get(`${configMaps}?resourceVersion=${"9".repeat(anySize(random, 30_000))}`),
      get(`${configMaps}?limit=${"9".repeat(anySize(random, 30_000))}`),
      get(`${configMaps}?labelSelector=${encodeURIComponent("((".repeat(anySize(random, 8000)))}`),
      get(
        `${configMaps}?labelSelector=${encodeURIComponent(`a in (${times(anySize(random, 9000), (i) => `v${i}`).join()})`)}&watch=true&timeoutSeconds=1`,
      ),
      get(
        `${configMaps}?fieldSelector=${encodeURIComponent("a\\\\=".repeat(anySize(random, 8000)))}`,
      ),
      post(`${configMaps}?fieldManager=${long(20_000)}`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "h" },
      }),
      post(`${configMaps}?${"dryRun=All&".repeat(anySize(random, 3000))}`, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { generateName: "h".repeat(anySize(random, 100_000)) },
      }),
    ];
    for (const step of steps) if (random.chance(0.5)) yield step;
  },
};

const credentials: Attack = {
  name: "tokens and certificates with large content",
  *steps({ random }) {
    const large = (most: number) => "x".repeat(anySize(random, most));
    yield post("/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: {
        token: random.pick([
          large(2_900_000),
          `${large(900_000)}.${large(900_000)}.${large(900_000)}`,
        ]),
        audiences: times(anySize(random, 60_000), (i) => `a${i}`),
      },
    });
    yield post("/api/v1/namespaces/default/serviceaccounts/default/token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: times(anySize(random, 60_000), (i) => `a${i}`),
        boundObjectRef: { apiVersion: "v1", kind: "Secret", name: large(100_000) },
      },
    });
    const pem = (bytes: Buffer) =>
      Buffer.from(
        `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString("base64").replaceAll(/(.{64})/g, "$1\n")}\n-----END CERTIFICATE REQUEST-----\n`,
      ).toString("base64");
    const nested = Buffer.concat(times(anySize(random, 20_000), () => Buffer.from([0x30, 0x80])));
    for (const request of [
      pem(Buffer.alloc(anySize(random, 900_000), 0x30)),
      pem(nested),
      pem(Buffer.from(times(anySize(random, 100_000), () => random.integer(256)))),
      Buffer.from("-----BEGIN CERTIFICATE REQUEST-----\n".repeat(anySize(random, 20_000))).toString(
        "base64",
      ),
    ])
      yield post("/apis/certificates.k8s.io/v1/certificatesigningrequests", {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { generateName: "c" },
        spec: {
          request,
          signerName: random.pick(["kubernetes.io/kube-apiserver-client", "example.com/x"]),
          usages: times(anySize(random, 1000), () => "client auth"),
          extra: { k: times(anySize(random, 9000), (i) => `v${i}`) },
        },
      });
    yield post("/apis/tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations", {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "WorkspaceAuthenticationConfiguration",
      metadata: { name: "a" },
      spec: {
        jwt: times(anySize(random, 60), (i) => ({
          issuer: {
            url: `https://i${i}.example.com`,
            audiences: ["a"],
            certificateAuthority: large(50_000),
          },
          claimMappings: {
            username: { expression: `claims.sub + '${large(200)}'` },
            groups: { expression: "claims.groups" },
          },
          claimValidationRules: times(anySize(random, 60), () => ({
            expression: "claims.all(k, claims.all(q, k != q || true))",
          })),
        })),
      },
    });
  },
};

export const headerAttacks: readonly Attack[] = [headers, credentials];
