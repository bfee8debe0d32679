// The bundle of this checkout; in a fresh one it is built first, so that the commands work after
// `npm ci`.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const bundle = new URL("../dist/bundle/kcp.mjs", import.meta.url);
if (!existsSync(bundle)) {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  process.stderr.write("kcp: building this checkout first\n");
  const built = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (built.status !== 0) process.exit(1);
}

export const programs = await import(bundle.href);
