/**
 * What the client costs per get, against the same requests by bare node:http2. The server runs in a
 * process of its own, so that only the client's CPU counts. Prints one line of JSON; asserts
 * nothing.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:http2";
import { fileURLToPath } from "node:url";
import { Client } from "../client/index.ts";
import { type Certificates, makeCertificates, startHttp2Server } from "../fake-server/index.ts";
import { configMaps } from "../kinds/index.ts";
import { NodeTransport } from "./node-transport.ts";

const requests = Number(process.env["BENCH_REQUESTS"] ?? 20_000);
const concurrency = 32;
const path = "/api/v1/namespaces/default/configmaps/a";

if (process.argv[2] === "server") await serve(process.argv[3] ?? "");
else await main();

async function serve(encoded: string): Promise<void> {
  const body = JSON.stringify({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "a", namespace: "default", uid: "u", resourceVersion: "1" },
    data: Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`key-${i}`, "x".repeat(60)])),
  });
  const certificates = JSON.parse(encoded) as Certificates;
  const server = await startHttp2Server(certificates, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(body);
  });
  process.send?.(server.port);
  // The parent process has ended.
  process.on("disconnect", () => process.exit(0));
}

async function main(): Promise<void> {
  const certificates = makeCertificates();
  const child = fork(fileURLToPath(import.meta.url), ["server", JSON.stringify(certificates)]);
  const [port] = (await once(child, "message")) as [number];
  const url = new URL(`https://localhost:${port}`);
  const { ca } = certificates;

  const session = connect(url, { ca });
  const raw = () =>
    new Promise<unknown>((resolve, reject) => {
      const stream = session.request({ ":path": path, accept: "application/json" });
      const chunks: Buffer[] = [];
      stream.on("response", (headers) => {
        if (headers[":status"] !== 200) reject(new Error("not found"));
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
      stream.on("error", reject);
    });
  const transport = new NodeTransport({ url, tls: () => ({ ca }) });
  const resource = new Client({ transport }).resource(configMaps);
  const target = { namespace: "default", name: "a" };
  const ours = () => resource.get(target);

  const rounds = 5;
  const costs: { raw: number[]; ours: number[] } = { raw: [], ours: [] };
  for (let round = 0; round < rounds; round++) {
    costs.raw.push(await measure(raw, requests / rounds));
    costs.ours.push(await measure(ours, requests / rounds));
  }
  // The first round warms up.
  const [rawUs, oursUs] = [median(costs.raw.slice(1)), median(costs.ours.slice(1))];
  console.log(JSON.stringify({ rawMicros: rawUs, sdkMicros: oursUs, ratio: oursUs / rawUs }));
  session.close();
  await transport.close();
  child.kill();
}

/** CPU microseconds per call. */
async function measure(call: () => Promise<unknown>, count: number): Promise<number> {
  const before = process.cpuUsage();
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
