/** The strictest sets of typescript-eslint; what is taken out of them says why. */
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['build/', 'bundle/']),
  js.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { URL: 'readonly' } },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      curly: 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': ['error', { allow: ['error'] }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // `array[i]!` says that the index is known to be good, which `noUncheckedIndexedAccess` asks for
      '@typescript-eslint/no-non-null-assertion': 'off',
      // a newer kernel or browser may say what the types of today do not know
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
    },
  },
  {
    files: ['editor/**', 'panel/**'],
    rules: {
      '@typescript-eslint/unbound-method': 'off', // Lumino's signals take a method and its object
    },
  },
  {
    files: ['**/*.test.ts', 'testing/**'],
    rules: {
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off', // `get<HTMLInputElement>('key')`
      '@typescript-eslint/require-await': 'off', // a fake of something asynchronous
      '@typescript-eslint/unbound-method': 'off', // `expect(mock.method)`
    },
  },
);
