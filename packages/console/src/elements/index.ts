/** What screens are made of. */
export { type Condition, ConditionList } from "./conditions.tsx";
export { type DataRow, DataTable, type TableColumn } from "./data-table.tsx";
export { Dialog } from "./dialog.tsx";
export { ageText, Field, statusTone, Tone, type ToneName } from "./fields.tsx";
export { LongText, LongYaml } from "./long-text.tsx";
export { Empty, ErrorNotice, KubectlLine, Loading, messageOf, Part } from "./notices.tsx";
export { formatQuantity, parseQuantity } from "./quantities.ts";
export { shellLine } from "./shell-line.ts";
export { Tabs } from "./tabs.tsx";
export { rowOfKey, scrollToRow, useVirtualRows } from "./virtual-rows.ts";
