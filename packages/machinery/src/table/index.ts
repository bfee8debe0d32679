export { age, humanDuration } from "./human-duration.ts";
export type { TableColumn } from "./table-column.ts";
