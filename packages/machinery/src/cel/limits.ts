/**
 * Every bound of the CEL engine, in one place.
 *
 * Expressions and data come from tenants, so parsing, checking and evaluating are all bounded. The
 * parser limits are those of cel-go; the cost limits are those of Kubernetes; the rest is this
 * engine's own.
 */

/** Longest expression that is parsed, in Unicode code points (cel-go's default). */
export const EXPRESSION_CODE_POINTS_MAX = 100_000;

/**
 * Deepest nesting of an expression, both of grammar rules and of syntax nodes (cel-go's default).
 */
export const EXPRESSION_DEPTH_MAX = 250;

/**
 * Most syntax nodes of one expression after macro expansion: each phase (parsing, checking,
 * planning, estimating) takes some ten milliseconds for them. Macros such as `optMap` copy their
 * target, so a short text can grow exponentially; cel-go does not bound this. The largest
 * expressions of public CRDs have some hundred.
 */
export const EXPRESSION_NODES_MAX = 4_000;

/** Most problems that one compilation reports, as cel-go; the rest is counted. */
export const ISSUES_MAX = 100;

/**
 * Text of the lines that the problems of one expression quote, in UTF-16 units; further problems
 * are named without their line.
 */
export const QUOTED_LENGTH_MAX = 65_536;

/** Runtime cost that one evaluation may have (Kubernetes' PerCallLimit). */
export const COST_PER_CALL_MAX = 1_000_000;

/** Runtime cost that all evaluations for one object may have together (RuntimeCELCostBudget). */
export const COST_PER_OBJECT_MAX = 10_000_000;

/** Runtime cost that the match conditions of one webhook or policy may have together. */
export const COST_MATCH_CONDITIONS_MAX = 2_500_000;

/** Static estimate that one rule may have. */
export const ESTIMATE_PER_RULE_MAX = 10_000_000;

/** Longest result of a messageExpression, in bytes. */
export const MESSAGE_EXPRESSION_BYTES_MAX = 5120;

/**
 * Largest request that is accepted, in bytes; the source of all default size bounds in estimates.
 */
export const REQUEST_BYTES_MAX = 3 * 1024 * 1024;

/** Most values of a result that is written as JSON: as many as the body of a request has. */
export const JSON_VALUES_MAX = 100_000;

/**
 * Primitive steps (elements visited, thirty-two characters read or written) that one evaluation may
 * take besides its cost: some twenty milliseconds. Kubernetes' costs of `size`, deep equality,
 * `format` and searching are lower than their work, so cost alone bounds neither time nor memory.
 * An evaluation is charged its steps in the budget of its object where they are more than its cost.
 */
export const EVALUATION_STEPS_MAX = 500_000;

/** Cost and steps after which a loop yields: part of a millisecond. */
export const WORK_PER_YIELD_MAX = 20_000;

/**
 * The same for the validation of an expression's literals during compilation: patterns above all.
 */
export const COMPILATION_STEPS_MAX = 1_200_000;

/** Longest string or list that one call may build, in UTF-16 units or elements. */
export const RESULT_ELEMENTS_MAX = REQUEST_BYTES_MAX;

/** Comprehension steps between two polls of the embedder's interrupt signal. */
export const INTERRUPT_CHECK_STEPS = 100;

/** Longest regular expression that is compiled, in UTF-16 units. */
export const PATTERN_LENGTH_MAX = 5_000;

/** Largest regular expression that is compiled, in instructions with repetitions written out. */
export const PATTERN_SIZE_MAX = 5_000;

/** Compiled dynamic patterns kept, over all programs. */
export const PATTERN_CACHE_ENTRIES_MAX = 256;

/** Most digits after the point that `format` prints. */
export const FORMAT_PRECISION_MAX = 1000;
