/** One column of a Table response, as in `columnDefinitions`. */
export type TableColumn = {
  readonly name: string;
  /** An OpenAPI type: `string`, `integer`, `number`, `boolean`, `date`. */
  readonly type: string;
  /** `name` marks the column that holds the object's name; kubectl looks for it. */
  readonly format: string;
  readonly description: string;
  /** Columns above 0 are shown only in wide output. */
  readonly priority: number;
};
