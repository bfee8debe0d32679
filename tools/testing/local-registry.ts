/**
 * A registry of npm on the loopback address, with the packages that are installed here: `npm
 * install` does all that it does for a user, without the network.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { promisify } from "node:util";

const exec = promisify(execFile);
const tarballMegabytesMax = 256;

export interface LocalRegistry {
  readonly url: string;
  close(): Promise<void>;
}

export async function startLocalRegistry(modules: string): Promise<LocalRegistry> {
  const tarballs = new Map<string, Promise<Buffer>>();
  const tarballOf = (name: string) => {
    const known = tarballs.get(name) ?? pack(resolve(modules, name));
    tarballs.set(name, known);
    return known;
  };
  const server = createServer((request, response) => {
    answer(request.url ?? "").then(
      (body) => response.end(body),
      (error: unknown) => response.writeHead(404).end(String(error)),
    );
  });
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(target: string): Promise<string | Buffer> {
    const path = decodeURIComponent(target.slice(1));
    if (path.endsWith(".tgz")) return await tarballOf(path.slice(0, -".tgz".length));
    const manifest = await readFile(resolve(modules, path, "package.json"), "utf8");
    const described = JSON.parse(manifest) as { readonly name: string; readonly version: string };
    const { name, version } = described;
    const integrity = `sha512-${createHash("sha512")
      .update(await tarballOf(name))
      .digest("base64")}`;
    const dist = { tarball: `${url}/${name}.tgz`, integrity };
    const versions = { [version]: { ...described, dist } };
    return JSON.stringify({ name, "dist-tags": { latest: version }, versions });
  }

  return {
    url,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
}

async function pack(folder: string): Promise<Buffer> {
  const args = ["-czf", "-", "-C", folder, "--transform", "s,^\\.,package,", "."];
  const maxBuffer = tarballMegabytesMax * 1e6;
  const { stdout } = await exec("tar", args, { encoding: "buffer", maxBuffer });
  return stdout;
}
