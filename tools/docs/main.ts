/** `npm run docs`: writes the API reference. */
import { mkdir, writeFile } from "node:fs/promises";
import { referencePages } from "./reference.ts";

await mkdir("docs/reference", { recursive: true });
for (const [path, text] of await referencePages()) await writeFile(path, text);
