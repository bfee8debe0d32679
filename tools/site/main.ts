/** `npm run site`: writes the documentation site to dist/site. */
import { writeSite } from "./site-pages.ts";

const folder = "dist/site";
const pages = await writeSite(folder);
process.stdout.write(`${pages.length} pages in ${folder}: open ${folder}/index.html\n`);
