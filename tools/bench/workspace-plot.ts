/**
 * The plot of a run with many workspaces: resident memory and rate against how many there are, as
 * SVG that can be read on light and on dark paper.
 *
 * A pure function of its samples; scales begin at zero, so that what looks flat is flat.
 */
export interface WorkspaceSample {
  readonly workspaces: number;
  readonly megabytes: number;
  /** Over the time since the sample before. */
  readonly perSecond: number;
}

export interface PlotText {
  /** What was run, where and when, in a line. */
  readonly caption: string;
}

const width = 720;
const panelHeight = 220;
const left = 64;
const right = 16;
const top = 28;
const gap = 56;
const height = top + 2 * panelHeight + gap + 64;

interface Panel {
  readonly title: string;
  readonly y: number;
  readonly max: number;
  readonly heightOf: (sample: WorkspaceSample) => number;
  readonly className: string;
}

export function workspacePlot(samples: readonly WorkspaceSample[], { caption }: PlotText): string {
  const workspacesMax = roundUp(Math.max(1, ...samples.map(({ workspaces }) => workspaces)));
  const panels: Panel[] = [
    {
      title: "resident memory, MB",
      y: top,
      max: roundUp(Math.max(1, ...samples.map(({ megabytes }) => megabytes))),
      heightOf: ({ megabytes }) => megabytes,
      className: "memory",
    },
    {
      title: "created and Ready per second",
      y: top + panelHeight + gap,
      max: roundUp(Math.max(1, ...samples.map(({ perSecond }) => perSecond))),
      heightOf: ({ perSecond }) => perSecond,
      className: "rate",
    },
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(caption)}">`,
    `<style>${style}</style>`,
    ...panels.flatMap((panel) => drawPanel(panel, samples, workspacesMax)),
    `<text x="${left}" y="${height - 30}">workspaces</text>`,
    `<text class="caption" x="${left}" y="${height - 10}">${escaped(caption)}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

/** Without a background of its own: the colours stand out on white as on black. */
const style = [
  "text{font:12px system-ui,sans-serif;fill:#57606a}",
  ".caption{font-size:11px}",
  ".title{font-weight:600}",
  ".grid{stroke:#8c959f;stroke-opacity:.35}",
  "polyline{fill:none;stroke-width:2}",
  ".memory{stroke:#0969da}",
  ".rate{stroke:#bf5700}",
  "@media (prefers-color-scheme:dark){text{fill:#9ea7b3}.memory{stroke:#58a6ff}.rate{stroke:#f0883e}}",
].join("");

function drawPanel(
  { title, y, max, heightOf, className }: Panel,
  samples: readonly WorkspaceSample[],
  workspacesMax: number,
): string[] {
  const plotWidth = width - left - right;
  const xOf = (workspaces: number) => left + (workspaces / workspacesMax) * plotWidth;
  const yOf = (value: number) => y + panelHeight - (value / max) * panelHeight;
  const points = samples.map(
    (sample) => `${round(xOf(sample.workspaces))},${round(yOf(heightOf(sample)))}`,
  );
  const steps = [0, 1, 2, 3, 4];
  return [
    `<text class="title" x="${left}" y="${y - 10}">${escaped(title)}</text>`,
    ...steps.flatMap((step) => {
      const value = (max * step) / 4;
      const lineY = round(yOf(value));
      return [
        `<line class="grid" x1="${left}" y1="${lineY}" x2="${width - right}" y2="${lineY}"/>`,
        `<text x="${left - 8}" y="${lineY + 4}" text-anchor="end">${label(value)}</text>`,
      ];
    }),
    ...steps.map((step) => {
      const workspaces = (workspacesMax * step) / 4;
      return `<text x="${round(xOf(workspaces))}" y="${y + panelHeight + 18}" text-anchor="middle">${label(workspaces)}</text>`;
    }),
    `<polyline class="${className}" points="${points.join(" ")}"/>`,
  ];
}

/** The next of 1, 2, 4, 6, 8, 10 times a power of ten: quarters of it are plain numbers. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 6, 8].find((factor) => factor * power >= value) ?? 10) * power;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function label(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 2 });
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}
