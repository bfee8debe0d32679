/** `node tools/dist/image.js <control-plane | agent> <folder>`: writes the files of an image. */
import { imageTargets, writeImageTree } from "./image-tree.ts";

const [name, folder] = process.argv.slice(2);
const target = imageTargets.find((one) => one === name);
if (target === undefined || folder === undefined)
  throw new Error(`image.js <${imageTargets.join(" | ")}> <folder>`);
writeImageTree(target, folder);
