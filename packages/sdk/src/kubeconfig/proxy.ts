/** The proxy of a server: the kubeconfig's, or the environment's by the rules of Go programs. */
import { BlockList, isIP } from "node:net";
import { KubeconfigError } from "./fields.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function proxyFor(
  server: URL,
  proxyUrl: string | undefined,
  env: Environment,
): URL | undefined {
  if (proxyUrl !== undefined) return parseProxy(proxyUrl);
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const text = env[name] || env[name.toLowerCase()];
  if (!text || isExempt(server, env["NO_PROXY"] || env["no_proxy"] || "")) return undefined;
  return parseProxy(text.includes("://") ? text : `http://${text}`);
}

const proxyProtocols: ReadonlySet<string> = new Set(["http:", "https:", "socks5:", "socks5h:"]);

function parseProxy(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !proxyProtocols.has(url.protocol)) {
    throw new KubeconfigError("proxy-url: only http, https and socks5 proxies are supported");
  }
  return url;
}

/**
 * `*`, names, `.suffixes`, addresses and CIDR ranges, each with an optional port. Loopback
 * addresses are always exempt.
 */
function isExempt(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (host === "localhost" || host === "::1" || host.startsWith("127.")) return true;
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  return noProxy
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => matches(entry, host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  if (entry.includes("/")) return isIP(host) !== 0 && isInRange(entry, host);
  const withPort = /^(.*):(\d+)$/.exec(entry);
  if (withPort !== null && isIP(entry) === 0) {
    return withPort[2] === port && matches(withPort[1] ?? "", host, port);
  }
  const suffix = entry.replace(/^\*?\./, ".");
  return suffix.startsWith(".")
    ? host.endsWith(suffix)
    : host === suffix || host.endsWith(`.${suffix}`);
}

function isInRange(range: string, host: string): boolean {
  const [network = "", bits = ""] = range.split("/");
  const family = isIP(network);
  if (family === 0 || family !== isIP(host) || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}
