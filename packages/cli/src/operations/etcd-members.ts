/** Asks each member of etcd for its health, by HTTP as load balancers do. */
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { type Finding, failure, ok, warning } from "./finding.ts";

export interface EtcdFlags {
  readonly servers: readonly string[];
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

const timeoutMs = 5000;
const bytesMax = 64 << 10;

export async function checkEtcd(etcd: EtcdFlags): Promise<readonly Finding[]> {
  const read = async (path: string | undefined) =>
    path === undefined ? undefined : await readFile(path);
  const [ca, cert, key] = await Promise.all([etcd.caFile, etcd.certFile, etcd.keyFile].map(read));
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  const members = await Promise.all(
    etcd.servers.map(async (server) => {
      const check = `etcd ${server}`;
      try {
        const { status, text } = await get(new URL("/health", server), tls);
        const isHealthy = status === 200 && /"health"\s*:\s*"?true/.test(text);
        if (isHealthy) return ok(check, "healthy");
        return failure(check, `not healthy: ${text.slice(0, 200).trim()}`, etcdNext);
      } catch (error) {
        return failure(check, `unreachable: ${(error as Error).message}`, etcdNext);
      }
    }),
  );
  return [...members, quorumFinding(etcd.servers.length)];
}

const etcdNext =
  "look at the member's log, its disk, and the certificates of --etcd-cafile and --etcd-certfile";

function quorumFinding(count: number): Finding {
  if (count >= 3 && count % 2 === 1) return ok("etcd members", `${count}`);
  return warning(
    "etcd members",
    `${count} in --etcd-servers`,
    "run three or five members: a majority of an even number or of one survives no further loss",
  );
}

function get(url: URL, tls: object): Promise<{ readonly status: number; readonly text: string }> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...tls, timeout: timeoutMs }, (response) => {
      let text = "";
      response.on("data", (bytes: Buffer) => {
        text += bytes.toString();
        if (text.length > bytesMax) sent.destroy(new Error("the response is too long"));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("timeout", () => sent.destroy(new Error("no response within 5 s")));
    sent.on("error", reject);
    sent.end();
  });
}
