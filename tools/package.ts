/**
 * `npm run package`: the published package in packages/kcp-ts/dist/package, ready for npm pack or
 * publish.
 */
import { writePackage } from "./package-files.ts";

const folder = "packages/kcp-ts/dist/package";
await writePackage({ folder });
process.stdout.write(`${folder}\n`);
