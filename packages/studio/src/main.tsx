/** The page begins here. */
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyTheme } from './shell/theme.ts';

applyTheme();
const place = document.getElementById('root');
if (place !== null) createRoot(place).render(<App />);
