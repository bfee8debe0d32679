/** Checks of this machine and of a data directory; none needs a running server. */
import { X509Certificate } from "node:crypto";
import { readFile, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import { join } from "node:path";
import { certificateFinding } from "./certificate.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

const gigabyte = 1e9;
const freeShareMin = 0.1;
const openFilesMin = 16_384;
const memoryMin = 0.9 * gigabyte;

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return ok("node", `v${version}`);
  return failure("node", `v${version} is too old`, "install Node.js 20.19 or newer");
}

export async function checkDisk(directory: string): Promise<Finding> {
  const { bsize, blocks, bavail, ffree, files } = await statfs(directory);
  const free = bsize * bavail;
  const text = `${(free / gigabyte).toFixed(1)} GB of ${((bsize * blocks) / gigabyte).toFixed(1)} GB are free at ${directory}`;
  const next = "enlarge the volume, or delete what is not kcp's";
  if (free < gigabyte / 4) return failure("disk", text, next);
  if (files > 0 && ffree / files < 0.01) return failure("disk", `${text}, no free inodes`, next);
  if (free < gigabyte || bavail / blocks < freeShareMin) return warning("disk", text, next);
  return ok("disk", text);
}

/** The directory holds keys and Secrets. */
export async function checkDirectory(directory: string): Promise<Finding> {
  const { mode, uid } = await stat(directory);
  const own = process.getuid?.();
  if ((mode & 0o077) !== 0)
    return failure(
      "directory",
      `${directory} has mode ${(mode & 0o777).toString(8)}: other users can read keys and Secrets`,
      `chmod 700 ${directory}`,
    );
  if (own !== undefined && own !== 0 && uid !== own)
    return warning("directory", `${directory} belongs to user ${uid}`, "run as the server's user");
  return ok("directory", `${directory} is private`);
}

export async function checkCertificateFiles(
  directory: string,
  nowMs: number,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const name of ["ca.crt", "apiserver.crt", "client-ca.crt"]) {
    const text = await readIfPresent(join(directory, name));
    if (text === undefined) continue;
    const { validTo, subject } = new X509Certificate(text);
    const notAfter = new Date(validTo).toISOString();
    findings.push(
      certificateFinding(name, { subject: subject.replace(/^.*CN=/s, ""), notAfter }, nowMs),
    );
  }
  return findings;
}

export async function checkOpenFiles(): Promise<Finding> {
  const limits = await readIfPresent("/proc/self/limits");
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits ?? "")?.[1];
  if (soft === undefined) return ok("open files", "the limit is unknown on this system");
  if (soft === "unlimited" || Number(soft) >= openFilesMin) return ok("open files", soft);
  return warning(
    "open files",
    `at most ${soft}`,
    `LimitNOFILE=${openFilesMin * 4} in the systemd unit, or ulimit -n ${openFilesMin * 4}: each connection needs one`,
  );
}

export async function checkMemory(): Promise<Finding> {
  const limit = Number(await readIfPresent("/sys/fs/cgroup/memory.max"));
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  const text = `${(bytes / gigabyte).toFixed(1)} GB`;
  return bytes >= memoryMin
    ? ok("memory", text)
    : warning("memory", text, "give the server 1 GB or more");
}

/** Whether a server could listen there; a server that answers is checked by `kcp status`. */
export function checkPort(host: string, port: number): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      resolve(
        error.code === "EADDRINUSE"
          ? ok("port", `${port} is in use`)
          : failure("port", `${host}:${port}: ${error.message}`, "give another --secure-port"),
      ),
    );
    server.listen(port, host, () => server.close(() => resolve(ok("port", `${port} is free`))));
  });
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
