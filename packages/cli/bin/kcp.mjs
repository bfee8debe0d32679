#!/usr/bin/env -S node --max-semi-space-size=32
// A larger nursery: what a request allocates is garbage when it is answered, and is not copied (a tenth of what a create costs).
// Runs the bundle; in a fresh checkout it is built first, so that `npx kcp` works after `npm ci`.
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
const { main } = await import(bundle.href);
await main(process.argv);
