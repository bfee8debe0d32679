/** Layout that is broken, by the geometry of a page: pixels differ with every font. */
import type { Page } from "playwright-core";

/**
 * Boxes that leave the window, texts that are cut without an ellipsis or a way to scroll, and
 * controls and texts that lie on each other.
 */
export function layoutBreaks(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(async () => {
    // What follows the size of the window is drawn in the next frame.
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    const scope = document.querySelector("dialog[open]") ?? document.body;
    const name = (one) => one.outerHTML.slice(0, 90);
    // The page as a whole scrolls downwards only.
    const scrolls = (one) =>
      one.tagName !== "MAIN" && /auto|scroll/.test(getComputedStyle(one).overflowX);
    const inScroller = (one) => {
      for (let at = one; at !== null && at !== scope; at = at.parentElement)
        if (scrolls(at)) return true;
      return false;
    };
    const seen = [...scope.querySelectorAll("*")].filter((one) =>
      one.checkVisibility() && one.getClientRects().length > 0);
    const wide = seen.filter((one) =>
      one.getBoundingClientRect().right > innerWidth + 1 && !inScroller(one.parentElement));
    const cut = seen.filter((one) => {
      const { overflowX, textOverflow } = getComputedStyle(one);
      const isCut = one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 4;
      return /hidden|clip/.test(overflowX) && textOverflow !== "ellipsis" &&
        one.textContent.trim() !== "" && one.clientWidth > 1 && isCut;
    });
    const boxes = seen.filter((one) =>
      one.matches("button, input, select, textarea, h1, h2, h3, p, .kubectl") &&
      !inScroller(one.parentElement));
    const on = [];
    for (const [at, one] of boxes.entries())
      for (const other of boxes.slice(at + 1)) {
        if (one.contains(other) || other.contains(one)) continue;
        const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 2 && y > 2) on.push(name(one) + " lies on " + name(other));
      }
    const said = (what, found) => found.map((one) => what + ": " + name(one));
    return [...said("wide", wide), ...said("cut", cut), ...on].slice(0, 10);
  })()`);
}
