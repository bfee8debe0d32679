/**
 * Pictures of the guide and of the README. Each run of the tests takes them, and compares them with
 * those that are stored: their size, and which parts of the screen are filled. Ages, fonts and
 * single lines may differ. `KCP_SCREENSHOTS=docs/images` stores them.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const stored = fileURLToPath(new URL("../../../../docs/images", import.meta.url));
/** Of the fields that are filled in one of two pictures. */
const differingMax = 0.35;

export async function checkScreenshot(page: Page, name: string): Promise<void> {
  const taken = await page.screenshot();
  const file = `console-${name}.png`;
  const folder = process.env["KCP_SCREENSHOTS"];
  if (folder !== undefined) {
    await mkdir(folder, { recursive: true });
    await writeFile(`${folder}/${file}`, taken);
  }
  const before = await readFile(`${stored}/${file}`);
  assert.deepEqual(sizeOf(taken), sizeOf(before), `${file} is of another size`);
  const share = await differingFields(page, taken, before);
  assert.ok(
    share < differingMax,
    `${(share * 100).toFixed(0)} % of docs/images/${file} is not what the page shows: take it again, with KCP_SCREENSHOTS=docs/images`,
  );
}

/** The header of a PNG has it. */
function sizeOf(png: Buffer) {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

/**
 * The share of the fields of 32 by 32 pixels whose mean brightness is another one, of those with
 * something in them.
 */
async function differingFields(page: Page, one: Buffer, other: Buffer): Promise<number> {
  // The page itself may not load pictures from elsewhere.
  const blank = await page.context().newPage();
  try {
    const pictures = JSON.stringify([one, other].map((png) => png.toString("base64")));
    return await blank.evaluate<number>(`(async () => {
      const [a, b] = await Promise.all(${pictures}.map(async (text) => {
        const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
        const picture = await createImageBitmap(new Blob([bytes]));
        const [width, height] = [picture.width >> 5, picture.height >> 5];
        const canvas = new OffscreenCanvas(width, height).getContext("2d");
        canvas.imageSmoothingQuality = "high";
        canvas.drawImage(picture, 0, 0, width, height);
        const { data } = canvas.getImageData(0, 0, width, height);
        return Array.from({ length: width * height }, (_, at) =>
          (data[4 * at] + data[4 * at + 1] + data[4 * at + 2]) / 3 / 255);
      }));
      const sorted = [...a].sort();
      const paper = sorted[sorted.length >> 1];
      const filled = [...a.keys()].filter((at) =>
        Math.max(Math.abs(a[at] - paper), Math.abs(b[at] - paper)) > 0.02);
      const differing = filled.filter((at) => Math.abs(a[at] - b[at]) > 0.02);
      return differing.length / filled.length;
    })()`);
  } finally {
    await blank.close();
  }
}
