/**
 * The cost of admission for a create: `node packages/apiserver/dist/admission/admission.bench.js
 * [creates]`.
 *
 * All requests run through the server in process, on the memory store. The variants alternate, so
 * that other load on the machine affects all of them; the best round of each counts.
 */
import { performance } from "node:perf_hooks";
import { registration, rulesFor, TestServer } from "../testing/index.ts";

const createsPerRound = Number(process.argv[2] ?? 3000);
const rounds = createsPerRound < 1000 ? 1 : 8;

interface Variant {
  readonly name: string;
  readonly cluster: string;
  prepare(server: TestServer, cluster: string): Promise<void>;
}

const five = [
  "object.metadata.name.size() < 64",
  "!has(object.data) || object.data.size() <= 10",
  "!has(object.metadata.labels) || !('forbidden' in object.metadata.labels)",
  "request.operation == 'CREATE'",
  "object.data.key == 'value'",
].map((expression) => ({ expression }));

async function policy(server: TestServer, cluster: string, resource: string): Promise<void> {
  const base = `/clusters/${cluster}${registration}`;
  await server.requestOk("POST", `${base}/validatingadmissionpolicies`, {
    body: {
      metadata: { name: "p" },
      spec: { matchConstraints: { resourceRules: rulesFor(resource) }, validations: five },
    },
  });
  await server.requestOk("POST", `${base}/validatingadmissionpolicybindings`, {
    body: { metadata: { name: "b" }, spec: { policyName: "p", validationActions: ["Deny"] } },
  });
}

const variants: readonly Variant[] = [
  { name: "nothing configured", cluster: "none", prepare: async () => {} },
  {
    name: "a policy for another resource",
    cluster: "other",
    prepare: (server, cluster) => policy(server, cluster, "secrets"),
  },
  {
    name: "a policy with 5 validations",
    cluster: "five",
    prepare: (server, cluster) => policy(server, cluster, "configmaps"),
  },
  {
    name: "a quota in another namespace",
    cluster: "quota",
    prepare: async (server, cluster) => {
      const path = `/clusters/${cluster}/api/v1/namespaces`;
      await server.requestOk("POST", path, { body: { metadata: { name: "n" } } });
      const body = { metadata: { name: "q" }, spec: { hard: { configmaps: "1" } } };
      await server.requestOk("POST", `${path}/n/resourcequotas`, { body });
    },
  },
];

async function round(server: TestServer, { cluster }: Variant, at: number): Promise<number> {
  const path = `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
  const start = performance.now();
  for (let i = 0; i < createsPerRound; i++)
    await server.requestOk("POST", path, {
      body: { metadata: { name: `c${at}-${i}` }, data: { key: "value" } },
    });
  return ((performance.now() - start) / createsPerRound) * 1000;
}

const server = await TestServer.start();
for (const variant of variants) await variant.prepare(server, variant.cluster);
const best = new Map<string, number>();
for (let at = 0; at < rounds; at++) {
  for (const variant of variants) {
    const micros = await round(server, variant, at);
    best.set(variant.name, Math.min(best.get(variant.name) ?? Number.POSITIVE_INFINITY, micros));
  }
}
for (const [name, micros] of best)
  process.stdout.write(`${name.padEnd(40)} ${micros.toFixed(1)} us per create\n`);
await server.close();
